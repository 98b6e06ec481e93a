"""Sweeps up what a process left behind that was killed while it had a server.

A private directory holds ``owner.json``, written before the first process of the server is started:

    {"pid", "started", "boot_id", "pid_namespace"}

``pid`` and ``started`` (kernel clock ticks since the machine booted) name the process for good. Before a new server is
started, every such directory of this user whose process is gone is cleared: the server's processes, which all have
their working directory in it, its segment of shared memory, and then its files.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

PREFIX: Final = "topg-"
"""How the names of private directories begin."""

DATA: Final = "data"
"""Where the server's own files are, in a private directory."""

_OWNER: Final = "owner.json"
_OWNER_BYTES_MAX: Final = 4_096
_LOOKED_AT_MAX: Final = 1_000
_PROC: Final = Path("/proc")
_START_TIME_FIELD: Final = 19
"""Place of the start time in ``/proc/PID/stat``, counted behind the command's name."""
_GRACE_S: Final = 0.5
_END_S: Final = 5.0
_ROUND_S: Final = 0.02
_COMMAND_S: Final = 10.0


class _Owner(NamedTuple):
    pid: int
    started: int
    boot_id: str
    pid_namespace: str


def claim(directory: Path) -> None:
    """Write down that a private directory belongs to this process."""
    pid = os.getpid()
    owner = _Owner(pid, _started_at(pid), _boot_id(), _pid_namespace())
    partial = directory / f"{_OWNER}.new"
    partial.write_text(json.dumps(owner._asdict()), encoding="utf-8")
    partial.chmod(0o600)
    partial.rename(directory / _OWNER)


def sweep(roots: Iterable[Path]) -> int:
    """Clear what killed processes left under ``roots``; answers how many directories that were."""
    found = [directory for root in roots for directory in sorted(root.glob(f"{PREFIX}*"))[:_LOOKED_AT_MAX]]
    gone = [directory for directory in found if (owner := _owner_of(directory)) is not None and _is_gone(owner)]
    for directory in gone:
        clear(directory)
    return len(gone)


def clear(directory: Path) -> None:
    """End whatever still runs in a private directory, and remove it."""
    _end_processes(directory)
    memory = _shared_memory_of(directory)
    if memory is not None and (ipcrm := shutil.which("ipcrm")) is not None:
        subprocess.run([ipcrm, "-m", memory], capture_output=True, check=False, timeout=_COMMAND_S)
    shutil.rmtree(directory, ignore_errors=True)


def _owner_of(directory: Path) -> _Owner | None:
    """Whose a directory is, if this user made it and nobody else can write there; None where that is not told."""
    try:
        found = directory.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o066 or not directory.is_dir() or directory.is_symlink():
            return None
        with (directory / _OWNER).open("rb") as file:
            owner = _Owner(**json.loads(file.read(_OWNER_BYTES_MAX)))
    except (OSError, ValueError, TypeError):
        return None
    whole = type(owner.pid) is type(owner.started) is int and type(owner.boot_id) is type(owner.pid_namespace) is str
    return owner if whole else None


def _is_gone(owner: _Owner) -> bool:
    """Whether a process has ended; never claimed of one that this process could not see."""
    if owner.boot_id != _boot_id():
        return True  # the machine was started anew since
    if owner.pid_namespace != _pid_namespace():
        return False
    try:
        return _started_at(owner.pid) != owner.started
    except OSError:
        return True


def _end_processes(directory: Path) -> None:
    """Ask all to end, so that each frees what it holds; kill what does not in time."""
    for number, wait_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _END_S)):
        end_s = time.monotonic() + wait_s
        while (pids := _at_work_in(directory)) and time.monotonic() < end_s:
            for pid in pids:
                _send(pid, number, directory)
            time.sleep(_ROUND_S)


def _at_work_in(directory: Path) -> list[int]:
    pids = (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())
    return [pid for pid in pids if pid != os.getpid() and _works_in(pid, directory)]


def _works_in(pid: int, directory: Path) -> bool:
    try:
        return (_PROC / str(pid) / "cwd").readlink().is_relative_to(directory)
    except OSError:
        return False  # it has just ended, or it is none of ours


def _send(pid: int, number: signal.Signals, directory: Path) -> None:
    """Signal a process through a handle of its own, looked at again: its number may have gone to somebody else."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _works_in(pid, directory):
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return
    finally:
        os.close(handle)


def _shared_memory_of(directory: Path) -> str | None:
    """The id of the segment that a server noted down and that its end did not free, if the kernel agrees."""
    try:
        lines = (directory / DATA / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        pid = lines[0].strip().lstrip("-")  # a server that runs alone notes its number with a minus
        key, memory = lines[6].split()
        segments = [line.split() for line in (_PROC / "sysvipc" / "shm").read_text(encoding="ascii").splitlines()[1:]]
    except (OSError, ValueError, IndexError):
        return None
    return memory if any((row[0], row[1], row[4]) == (key, memory, pid) for row in segments) else None


def _started_at(pid: int) -> int:
    stat = (_PROC / str(pid) / "stat").read_bytes()
    return int(stat.rpartition(b")")[2].split()[_START_TIME_FIELD])


def _boot_id() -> str:
    return (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()


def _pid_namespace() -> str:
    return str((_PROC / "self" / "ns" / "pid").readlink())
