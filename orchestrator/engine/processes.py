"""The processes of a run on this machine, as the kernel lists them: the driver's descendants, by what they are."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
PARENT_FIELD: Final = 1
"""Of the fields behind the name in ``/proc/PID/stat``, counted from 0."""


class Processes(NamedTuple):
    """Who works on a run, on this machine; on a cluster that was joined, workers and oracles may be elsewhere.

    Attributes:
        driver: the process that owns the run directory.
        workers, oracles: processes of their own; none where the driver hosts them itself.
        raylet, gcs: Ray's own, or None where this run did not start them.
    """

    driver: int
    workers: tuple[int, ...] = ()
    oracles: tuple[int, ...] = ()
    raylet: int | None = None
    gcs: int | None = None


def processes_of(driver: int, proc: Path = PROC) -> Processes:
    """The processes below a driver; where the kernel shows none, the driver alone.

    Args:
        driver: its process id.
        proc: where the kernel lists processes.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for pid in sorted(_below(driver, proc)):
        found[_part(proc / str(pid))].append(pid)
    return Processes(
        driver,
        tuple(found["worker"]),
        tuple(found["oracle"]),
        next(iter(found["raylet"]), None),
        next(iter(found["gcs"]), None),
    )


def _below(driver: int, proc: Path) -> Iterator[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for pid, parent in _parents(proc):
        children[parent].append(pid)
    ahead = [*children[driver]]
    while ahead:
        pid = ahead.pop()
        ahead += children.pop(pid, [])
        yield pid


def _parents(proc: Path) -> Iterator[tuple[int, int]]:
    try:
        names = [name for name in os.listdir(proc) if name.isdigit()]  # noqa: PTH208 - names are all that is needed
    except OSError:
        return  # this system has no such list
    for name in names:
        try:
            stat = (proc / name / "stat").read_bytes()
        except OSError:
            continue  # it has just ended
        yield int(name), int(stat.rpartition(b")")[2].split()[PARENT_FIELD])


def _part(process: Path) -> str:
    """What a process is for the run, "" if it is none of the parts that are told."""
    try:
        program = os.fsdecode((process / "cmdline").read_bytes().partition(b"\0")[0])
    except OSError:
        return ""
    title = program.partition(".")[0].strip()
    named = {"ray::RayWorker": "worker", "ray::RayOracle": "oracle", "raylet": "raylet", "gcs_server": "gcs"}
    return named.get(title) or named.get(program.rpartition("/")[2], "")
