"""Clears what a run's cluster left behind when its driver died without a word.

Some of Ray's processes notice only after a minute that their driver was killed. So a small process of its own stands
beside the driver, before the cluster is started: it holds the read end of a pipe whose write end only the driver has.
The driver's last word on that pipe sends it home; a pipe that closes without one means that the driver is gone, and
then the reaper ends the processes of the cluster, removes its private directory and goes.

A process belongs to the cluster if it is this user's, began after the reaper, and uses the private directory: it has a
file there open for writing, a socket bound there, or an option ``--name=PATH`` that points there. Whoever only reads a
log there is left alone. The directory's name is drawn anew for each cluster, so no other run's processes are met.

The file runs as a script in isolated mode, where only the standard library is at hand. Linux only: elsewhere there is
no ``/proc`` to look at, and the cluster's own clean-up has to do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
GRACE_S: Final = 0.5
ROUND_S: Final = 0.1
QUIET_ROUNDS: Final = 5
"""Rounds without a find after which nothing is left; a process that was just started shows in one of them."""
SWEEP_S: Final = 8.0
DONE: Final = b"done"
START_TIME_FIELD: Final = 19
"""Place of the start time in ``/proc/PID/stat``, counted behind the command's name."""


@contextlib.contextmanager
def reaping(directory: Path) -> Iterator[None]:
    """Keep a reaper for the processes that use ``directory``.

    Entered before the first of them is started. Leaving it with an error has them ended as well, so that a cluster
    that came up by half leaves nothing.

    Args:
        directory: private to one cluster.
    """
    if not (PROC / "self" / "fd").is_dir():
        yield
        return
    read_end, write_end = os.pipe()
    try:
        reaper = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(directory)],
            stdin=read_end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        try:
            yield
            with contextlib.suppress(BrokenPipeError):
                os.write(write_end, DONE)
        finally:
            os.close(write_end)
            write_end = -1
            with contextlib.suppress(subprocess.TimeoutExpired):
                reaper.wait(GRACE_S + SWEEP_S + 1)
    finally:
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)


def reap(directory: Path, began: int) -> int:
    """End every process that uses ``directory``, until none is left or the time is up.

    Args:
        directory: private to one cluster.
        began: only processes that started later are looked at, in the kernel's clock ticks.

    Returns:
        How many signals were sent.
    """
    ended = quiet = 0
    end_s = time.monotonic() + SWEEP_S
    while quiet < QUIET_ROUNDS and time.monotonic() < end_s:
        found = [pid for pid in users_of(directory, began) if _end(pid, directory, began)]
        ended += len(found)
        quiet = 0 if found else quiet + 1
        time.sleep(ROUND_S)
    return ended


def users_of(directory: Path, began: int) -> list[int]:
    """The processes of this user, started after ``began``, that use ``directory``."""
    sockets = _sockets_under(directory)
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if _is_user(pid, directory, sockets, began)]


def started_at(pid: int) -> int:
    """When a process started, in the kernel's clock ticks since it booted.

    Raises:
        OSError: there is no such process.
    """
    stat = (PROC / str(pid) / "stat").read_bytes()
    return int(stat.rpartition(b")")[2].split()[START_TIME_FIELD])


def _is_user(pid: int, directory: Path, sockets: set[str], began: int) -> bool:
    if pid == os.getpid():
        return False
    process = PROC / str(pid)
    try:
        if process.stat().st_uid != os.geteuid() or started_at(pid) < began:
            return False
        return _has_option(process, directory) or any(
            _uses(process, entry.name, directory, sockets) for entry in (process / "fd").iterdir()
        )
    except OSError:
        return False  # it has just ended, or it is none of ours


def _has_option(process: Path, directory: Path) -> bool:
    arguments = os.fsdecode((process / "cmdline").read_bytes()).split("\0")
    return any(_is_under(text.partition("=")[2], directory) for text in arguments if text.startswith("-"))


def _uses(process: Path, descriptor: str, directory: Path, sockets: set[str]) -> bool:
    try:
        target = str((process / "fd" / descriptor).readlink())
        if target in sockets:
            return True
        return _is_under(target, directory) and _is_for_writing(process, descriptor)
    except OSError:
        return False  # closed meanwhile


def _is_for_writing(process: Path, descriptor: str) -> bool:
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _sockets_under(directory: Path) -> set[str]:
    """Unix sockets that are bound under ``directory``, as descriptors of a process show them."""
    rows = (line.split() for line in (PROC / "net" / "unix").read_text(errors="surrogateescape").splitlines()[1:])
    return {f"socket:[{row[6]}]" for row in rows if len(row) > 7 and _is_under(row[7], directory)}


def _is_under(path: str, directory: Path) -> bool:
    return path == str(directory) or path.startswith(f"{directory}/")


def _end(pid: int, directory: Path, began: int) -> bool:
    """Kill a process through a handle of its own, looked at again: a number may have gone to somebody else."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _is_user(pid, directory, _sockets_under(directory), began):
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _said_goodbye() -> bool:
    """Wait for the pipe's end; whether the driver said its last word."""
    heard = b""
    while chunk := os.read(0, len(DONE)):
        heard += chunk
    return heard == DONE


def main(directory: Path) -> None:
    """Wait for the driver's end; clear up where it came without a word.

    Args:
        directory: private to one cluster.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    began = started_at(os.getpid())
    if _said_goodbye():
        return
    time.sleep(GRACE_S)
    reap(directory, began)
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
