"""What a run must not leave: live processes (I6) and secrets in its files (I8)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import orjson

from tests.checker.violation import Violation

PROC: Final = Path("/proc")
GONE_S: Final = 10.0
LOOK_S: Final = 0.1


def judge_processes(marker: str, wait_s: float = GONE_S) -> list[Violation]:
    """I6: within ten seconds no process carries the marker.

    Args:
        marker: a text that stands in the environment of the run's processes, or in the path of a directory that only
            they use; some of Ray's hide their environment and are known by their open files and options.
        wait_s: how long they may take to go.
    """
    end_s = time.monotonic() + wait_s
    while found := list(alive(marker)):
        if time.monotonic() > end_s:
            return [Violation("I6", f"alive after {wait_s:g} s: {', '.join(found)}")]
        time.sleep(LOOK_S)
    return []


def alive(marker: str) -> Iterator[str]:
    """The live processes of a run, this one and those above it aside."""
    above = set(_above(os.getpid()))
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) in above:
            continue
        try:
            if _carries(entry, marker.encode()) and not _is_dead(entry):
                title = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield f"{entry.name} ({title[:60].strip()})"
        except OSError:
            continue  # it has just ended, or it is not ours to look at


def _carries(process: Path, marker: bytes) -> bool:
    if marker in (process / "environ").read_bytes() or marker in (process / "cmdline").read_bytes():
        return True
    return any(marker in os.fsencode(entry.readlink()) for entry in (process / "fd").iterdir())


def _is_dead(process: Path) -> bool:
    return (process / "stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")


def _above(pid: int) -> Iterator[int]:
    while pid > 0:
        yield pid
        pid = int((PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()[1])


def judge_secrets(run_dir: Path, canary: str) -> list[Violation]:
    """I8: the canary stands in no file of the run, as it is or as JSON spells it."""
    spellings = {canary.encode(), orjson.dumps(canary)[1:-1], canary.encode("unicode_escape")}
    files = [path for path in sorted(run_dir.rglob("*")) if path.is_file()]
    found = [path for path in files if any(spelling in path.read_bytes() for spelling in spellings)]
    return [Violation("I8", f"the canary stands in {path.relative_to(run_dir)}") for path in found]
