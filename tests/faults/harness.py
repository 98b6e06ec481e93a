"""Starts runs as a person does, breaks them from outside, and goes on with them.

Every process of a run carries a marker: a folder of the test's own is its ``TMPDIR``, so the name stands in the
environment of each process and in the paths of Ray's files. ``check(..., marker=run.marker)`` looks for it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import orjson

from tests.checker.journal import acknowledged
from tests.checker.traces import GONE_S, alive

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "configs" / "reference.toml"
THIRDPARTY: Final = Path(__file__).parent / "thirdparty"
SLOW: Final = THIRDPARTY / "slow.toml"
WAITING: Final = THIRDPARTY / "waiting.toml"
LOOK_S: Final = 0.02
START_S: Final = 90.0
END_S: Final = 120.0


def wait_until(holds: Callable[[], Any], limit_s: float, look_s: float = LOOK_S) -> bool:
    """Whether something holds before the time is up."""
    end_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end_s:
            return False
        time.sleep(look_s)
    return True


@dataclass
class Run:
    """One run directory and the processes that work on it, one after the other.

    Attributes:
        run_dir: the run directory.
        marker: known to all of its processes and to no other.
        process: the last one that was started.
        name: of its outputs' files; "": the directory's.
    """

    run_dir: Path
    marker: str
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    sessions: int = 0
    name: str = ""

    @property
    def journal(self) -> Path:
        """The run's journal."""
        return self.run_dir / "journal.jsonl"

    @property
    def driver(self) -> subprocess.Popen[bytes]:
        """The process that was started last."""
        assert self.process is not None, "nothing was started"
        return self.process

    def start(self, *words: str | Path) -> Self:
        """Start the program with the words of a command line, in a process group of its own."""
        self.sessions += 1
        environment = {**os.environ, "TMPDIR": self.marker, **self.environment}
        with self.output("out").open("wb") as out, self.output("err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "orchestrator", *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
        return self

    def begin(self, config: Path, sets: Sequence[str] = (), *words: str) -> Self:
        """Start the run."""
        return self.start("run", "--config", config, "--run-dir", self.run_dir, "--json", *_sets(sets), *words)

    def resume(self, sets: Sequence[str] = (), *words: str) -> Self:
        """Go on with the run."""
        return self.start("resume", self.run_dir, "--json", *_sets(sets), *words)

    def output(self, stream: str, session: int | None = None) -> Path:
        """Where a session's standard output (``out``) or error (``err``) goes; None: the last session's."""
        name = self.name or self.run_dir.name
        return self.run_dir.with_name(f"{name}.{session or self.sessions}.{stream}")

    def answer(self) -> dict[str, Any]:
        """The one line of the last session's answer."""
        return dict(orjson.loads(self.output("out").read_bytes()))

    def end(self, limit_s: float = END_S) -> int:
        """Wait for the end of the last process; its exit code, negative for a signal that killed it."""
        return self.driver.wait(limit_s)

    def ended(self) -> bool:
        """Whether the last process has ended."""
        return self.driver.poll() is not None

    def kill(self) -> bytes:
        """``kill -9`` the driver.

        Returns:
            What its journal had acknowledged.
        """
        self.driver.kill()
        self.driver.wait()
        return self.acknowledged()

    def acknowledged(self) -> bytes:
        """The journal's bytes that its last commit vouches for; nothing before there is a journal."""
        return acknowledged(self.journal.read_bytes()) if self.journal.exists() else b""

    def count(self, line_type: str) -> int:
        """How many lines of a type stand in the journal."""
        return self.journal.read_bytes().count(b'"type":"%b"' % line_type.encode()) if self.journal.exists() else 0

    def repeats(self) -> bool:
        """Whether an attempt failed whose trial has not ended since.

        A worker that is killed under the same trial once more is, by the rules, what that trial's arm did.
        """
        failed: set[str] = set()
        for line in self.journal.read_bytes().splitlines():
            kind = line[:80].partition(b'"type":"')[2].partition(b'"')[0]
            if kind in FAILED_OR_ENDED:
                key = line[:400].partition(b'"key":"')[2].partition(b'"')[0].decode()
                (failed.add if kind == b"failed" else failed.discard)(key)
        return bool(failed)

    def reached(self, line_type: str, times: int, limit_s: float = START_S) -> bool:
        """Whether so many lines of a type come before the time is up and before the process ends."""
        wait_until(lambda: self.count(line_type) >= times or self.driver.poll() is not None, limit_s)
        return self.count(line_type) >= times


def _sets(sets: Sequence[str]) -> list[str]:
    return [word for text in sets for word in ("--set", text)]


FAILED_OR_ENDED: Final = frozenset({b"failed", b"scored", b"unreadable", b"infrastructure", b"cancelled"})
"""The lines that say that an attempt has failed or that a trial has ended."""


class Runs:
    """Makes runs in a folder; whatever of them is still alive at the end is ended.

    Args:
        folder: where run directories and outputs go.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: list[Run] = []

    def new(self, name: str = "", environment: Mapping[str, str] | None = None) -> Run:
        """A run that nothing has been started for.

        Args:
            name: of its directory; "": numbered.
            environment: variables for its processes, beside those of this one.
        """
        marker = Path("/tmp") / f"mark-{secrets.token_hex(6)}"  # short: Ray's sockets lie below it
        marker.mkdir(mode=0o700)
        run = Run(self.folder / (name or f"run-{len(self._made)}"), str(marker), environment or {})
        self._made.append(run)
        return run

    def undisturbed(self, config: Path, sets: Sequence[str] = ()) -> Path:
        """The run directory of a run that nothing befalls, without Ray."""
        run = self.new(f"undisturbed-{len(self._made)}")
        run.begin(config, sets, "--inline", "--quiet")
        code = run.end()
        assert code == 0, run.output("err").read_text()
        return run.run_dir

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run in self._made:
            if run.process is not None and run.process.poll() is None:
                run.process.kill()
                run.process.wait()
            _end_all(run.marker)
            shutil.rmtree(run.marker, ignore_errors=True)


def _end_all(marker: str) -> None:
    """Give a run's processes the time that they are promised, then end what is left."""
    wait_until(lambda: not any(alive(marker)), GONE_S)
    for text in alive(marker):
        with contextlib.suppress(OSError):
            os.kill(int(text.partition(" ")[0]), signal.SIGKILL)
