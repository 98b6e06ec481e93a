"""A warm process whose children are whole programs: hundreds of starts, kills and resumes in the time of a few.

``python -m tests.faults.nursery`` has everything imported that a run needs. For each line on its standard input, a JSON
object, it forks a child that carries a command line out as ``python -m orchestrator`` does, and answers with two lines:
the child's process id, and how it ended (as ``subprocess`` counts: negative for a signal)::

    {"words": ["run", ...], "out": PATH, "err": PATH, "synced": PATH, "stop": [OPERATION, MOMENT] | null}

``stop`` ends the child with SIGKILL at its n-th operation on a durable file, counted from 1: ``before`` it, ``after``
it, or ``half``-way through a write. ``synced`` is the file where the child notes, as a number, how many bytes of the
journal the disk has confirmed: what was acknowledged is among them, whatever the journal's commits say by then. When
it ends by itself, the count of its operations stands behind that number.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tests.faults.harness import REFERENCE, ROOT, Run

REFERENCE_WORDS: Final = (
    *("run", "--config", REFERENCE, "--inline", "--json", "--quiet", "--set", "run.trials=2"),
    *("--set", "engine.in_flight=2", "--set", "engine.lease_max=1", "--set", "limits.group_commit_ms=1"),
)
"""36 trials, one by one."""
MOMENTS: Final = ("before", "half", "after")
OPERATIONS: Final = ("create", "open_append", "write", "datasync", "fsync", "fsync_dir", "truncate", "replace", "close")


class Stop(NamedTuple):
    """Where a child is killed.

    Attributes:
        operation: which one, counted from 1.
        moment: one of ``MOMENTS``; ``half`` is ``before`` for what is no write.
    """

    operation: int
    moment: str


class Counting:
    """Stands between the program and the disk of its own process: counts, notes what is synced, and stops.

    Args:
        synced: where the confirmed size of the journal is noted.
        stop: where the process ends, or None.
    """

    def __init__(self, synced: Path, stop: Stop | None) -> None:
        self._note = os.open(synced, os.O_WRONLY | os.O_CREAT, 0o600)
        self._stop = stop
        self.count = 0
        self._journal = -1

    def wrap(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """An operation with a count, and with the end of the process where it is due."""

        def operation(files: object, *arguments: Any) -> Any:
            self.count += 1
            due = self._stop is not None and self._stop.operation == self.count
            if due and self._stop is not None and self._stop.moment != "after":
                if name == "write" and self._stop.moment == "half":
                    descriptor, data = arguments
                    real(files, descriptor, data[: len(data) // 2])
                self._end()
            result = real(files, *arguments)
            self._remember(name, arguments, result)
            if due:
                self._end()
            return result

        return operation

    def _remember(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        if name in ("create", "open_append") and arguments[0].name == "journal.jsonl":
            self._journal = result
        elif name == "close" and arguments[0] == self._journal:
            self._journal = -1  # its number goes to the next file
        elif name in ("datasync", "fsync") and arguments[0] == self._journal:
            self.note(str(os.fstat(self._journal).st_size))

    def note(self, text: str) -> None:
        """Write the note anew."""
        os.pwrite(self._note, f"{text:<40}".encode(), 0)

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def carry_out(order: dict[str, Any]) -> int:
    """Be the program, in a forked child."""
    from orchestrator import files
    from orchestrator.__main__ import main

    for stream, number in (("out", 1), ("err", 2)):
        os.dup2(os.open(order[stream], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    counting = Counting(Path(order["synced"]), Stop(*order["stop"]) if order["stop"] else None)
    for name in OPERATIONS:
        setattr(files.OsFiles, name, counting.wrap(name, getattr(files.OsFiles, name)))
    code = main(order["words"])
    synced = Path(order["synced"]).read_text().strip() or "0"
    counting.note(f"{synced} {counting.count}")
    return code


def fork(order: dict[str, Any], answer: Callable[[str], object]) -> int:
    """Fork a child for an order; how it ended."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = carry_out(order)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    answer(str(pid))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def warm(names: list[str]) -> None:
    """Import what a run has imported; what belongs to one process only is left out by itself."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def serve() -> None:
    """Fork for each order until the input ends."""

    def answer(text: str) -> None:
        print(text, flush=True)

    for line in sys.stdin:
        order = json.loads(line)
        if "warm" in order:
            warm(order["warm"])
            answer("0")
            answer("0")
        else:
            answer(str(fork(order, answer)))


class Ended(NamedTuple):
    """How a child ended.

    Attributes:
        code: its exit code, negative for a signal.
        synced: how many bytes of the journal the disk had confirmed.
        operations: how many operations it did; 0 where it was killed.
    """

    code: int
    synced: int
    operations: int


class Nursery:
    """The warm process, from the outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._children = 0

    def __enter__(self) -> Self:
        words = [sys.executable, "-m", "tests.faults.nursery"]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.communicate()

    @property
    def undisturbed(self) -> Path:
        """The run directory of the reference, two trials of each task, that nothing has befallen."""
        return self.folder / "undisturbed"

    def warm_up(self) -> None:
        """Find out in a process of its own what a run imports, and have it imported for all children."""
        told = self.folder / "modules"
        program = (
            "import sys, json; from orchestrator.__main__ import main; code = main(sys.argv[2:]);"
            "open(sys.argv[1], 'w').write(json.dumps([*sys.modules])); sys.exit(code)"
        )
        command = [
            sys.executable,
            "-c",
            program,
            str(told),
            *map(str, REFERENCE_WORDS),
            "--run-dir",
            str(self.undisturbed),
        ]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        self._ask({"warm": json.loads(told.read_text())}, lambda pid: None)

    def run(
        self, *words: str | Path, stop: Stop | None = None, meanwhile: Callable[[int], None] = lambda pid: None
    ) -> Ended:
        """Carry a command line out in a child.

        Args:
            words: the command line.
            stop: where it is killed.
            meanwhile: is given the child's process id while it works, and may kill it.
        """
        self._children += 1
        synced = self.folder / f"child-{self._children}.synced"
        order = {
            "words": [*map(str, words)],
            "out": str(self.output("out")),
            "err": str(self.output("err")),
            "synced": str(synced),
            "stop": stop,
        }
        code = self._ask(order, meanwhile)
        figures = [*map(int, synced.read_text().split()), 0, 0] if synced.exists() else [0, 0]
        return Ended(code, figures[0], figures[1])

    def resume(self, run: Run, *words: str) -> int:
        """Go on with a run, without Ray; its exit code."""
        return self.run("resume", run.run_dir, "--json", "--quiet", "--inline", *words).code

    def status(self, run: Run) -> dict[str, Any]:
        """What ``status --json`` says about a run; nothing while it cannot be read."""
        code = self.run("status", run.run_dir, "--json").code
        return dict(json.loads(self.output("out").read_text())) if code == 0 else {}

    def output(self, stream: str) -> Path:
        """Where the last child's standard output (``out``) or error (``err``) went."""
        return self.folder / f"child-{self._children}.{stream}"

    def _ask(self, order: dict[str, Any], meanwhile: Callable[[int], None]) -> int:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        meanwhile(int(self._process.stdout.readline()))
        return int(self._process.stdout.readline())


if __name__ == "__main__":
    serve()
