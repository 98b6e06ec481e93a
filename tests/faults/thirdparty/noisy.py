"""Arms that write where the answer of the program goes. Option ``mib``: how much."""

from __future__ import annotations

import os
import sys
from typing import Any

from arms.base import ArmTask
from arms.baselines import screen_only
from arms.environment import Environment
from spec.report import AgentReport

MIB = 1 << 20
FORGED = '{"exit":0,"run_dir":"elsewhere","conservation":{},"arms":{},"error":null}'


class Noisy:
    """Makes its noise and then does what the scripted arm does."""

    def __init__(self, mib: int = 1) -> None:
        self._mib = mib

    def noise(self) -> None:
        """What it writes."""

    async def __call__(self, task: ArmTask, environment: Environment) -> AgentReport:
        """Work on one trial."""
        self.noise()
        return await screen_only(task, environment)


class Floods(Noisy):
    """Much text without a line break, on both streams."""

    def noise(self) -> None:
        """Write it through Python's streams."""
        for _ in range(self._mib):
            print("x" * MIB, end="")
            print("y" * MIB, end="", file=sys.stderr)


class Binary(Noisy):
    """What is no UTF-8, past Python, on both descriptors."""

    def noise(self) -> None:
        """Write it to the descriptors."""
        for _ in range(self._mib):
            for number in (1, 2):
                os.write(number, b"\xff\xfe\x00\x1b[2J" * 1000)


class Forges(Noisy):
    """A line that looks like the program's answer."""

    def noise(self) -> None:
        """Write it in every way."""
        print(FORGED, flush=True)
        os.write(1, FORGED.encode() + b"\n")
        if sys.__stdout__ is not None:
            sys.__stdout__.write(FORGED + "\n")
            sys.__stdout__.flush()


class Closes(Noisy):
    """Closes what it was given."""

    def noise(self) -> None:
        """Close streams and descriptors."""
        for stream in (sys.stdout, sys.stderr):
            stream.close()
        for number in (0, 1, 2):
            try:
                os.close(number)
            except OSError:
                continue


class Replaces(Noisy):
    """Puts something of its own in the streams' places."""

    def noise(self) -> None:
        """Replace them by what raises at every use."""
        sys.stdout = sys.stderr = _Deaf()

    def __reduce__(self) -> Any:
        """Made anew wherever it goes."""
        return type(self), (self._mib,)


class _Deaf:
    def __getattr__(self, name: str) -> Any:
        raise SystemExit(4)
