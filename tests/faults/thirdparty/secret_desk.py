"""A ticket desk whose contract holds a secret, and arms that look for it.

The secret stands in a file that the environment names; only its form is known here.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from spec.contract import Effect, EffectKind
from spec.task import Task
from tests.arms.test_isolation import DEPTH, reachable, with_methods
from tests.end_to_end.thirdparty.desk import TicketDesk

SECRET = re.compile(r"canary-[0-9a-f]{32}")


class SecretDesk(TicketDesk):
    """Its tasks forbid a ticket with the secret's note."""

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        super().__init__(pack, split, options)
        self._secret = Path(os.environ["CANARY_FILE"]).read_text()

    def tasks(self) -> Sequence[Task]:
        """The desk's tasks, each with the secret in its contract."""
        forbidden = Effect(EffectKind.RECORD_WRITTEN, match={"note": self._secret}, expected_count=0)
        return [replace(task, contract=(*task.contract, forbidden)) for task in super().tasks()]


async def walker(task: ArmTask, environment: Environment) -> Any:
    """Walk from what an arm is given, say how much was seen, and repeat every secret that was met."""
    await environment.attempt_intended_action()
    given = (task, environment, environment.verifier)
    seen = reachable([root for thing in given for root in with_methods(thing)], DEPTH)
    texts = [thing for thing in seen if isinstance(thing, str)]
    found = sorted({match for text in texts for match in SECRET.findall(text)})
    return {"reported_success": True, "message": f"{len(seen)} things; {' '.join(found)}"}


def _garbage() -> bool:
    return any(isinstance(thing, Effect) and SECRET.search(str(thing.match)) for thing in gc.get_objects())


def _frames() -> bool:
    frame = sys._getframe()
    names = []
    while frame.f_back is not None:
        frame = frame.f_back
        names.append(frame.f_code.co_filename)
    return any("orchestrator" in name for name in names)


def _environment() -> bool:
    return b"CANARY_FILE" in Path("/proc/self/environ").read_bytes()


def _file() -> bool:
    return SECRET.fullmatch(Path(os.environ["CANARY_FILE"]).read_text()) is not None


def _parent() -> bool:
    os.kill(os.getppid(), 0)
    return True


PROBES: dict[str, Callable[[], bool]] = {
    "objects of the process": _garbage,
    "frames of the engine": _frames,
    "the environment": _environment,
    "files of the user": _file,
    "signals to the parent": _parent,
}
"""What an arm that tries can reach where it shares a process or a user with the rest. True: it is open."""


async def prober(task: ArmTask, environment: Environment) -> Any:
    """Try every probe and say which are open, never what was found."""
    await environment.attempt_intended_action()
    found = []
    for name, probe in PROBES.items():
        try:
            found += [name] if probe() else []
        except OSError:
            continue
    return {"reported_success": True, "message": f"open: {', '.join(found)}"}
