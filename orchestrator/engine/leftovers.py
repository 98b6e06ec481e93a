"""Sweeps up what an earlier run left behind whose driver and whose reaper both died.

The private directory of a cluster holds ``owner.json``, written before the first process of the cluster is started:

    {"run_id", "run_dir", "pid", "started", "boot_id", "pid_namespace"}

``pid`` and ``started`` (kernel clock ticks since the machine booted) name the driver's process for good: a number alone
may have gone to somebody else. When a run on Ray begins, every such directory of this user whose driver is gone is
cleared by the rules of ``reaper``. A directory without a whole ``owner.json``, of another user, of another machine's
process space or of a driver that lives is not touched.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from orchestrator.engine.reaper import PROC, reap, started_at

PREFIX: Final = "to-"
"""How the names of private directories begin."""

OWNER: Final = "owner.json"
OWNER_BYTES_MAX: Final = 16_384
LOOKED_AT_MAX: Final = 1_000
"""Private directories that are looked at, at most."""


class Run(NamedTuple):
    """Which run a cluster is for."""

    run_id: str
    run_dir: Path


class Owner(NamedTuple):
    """The driver that a private directory belongs to, with its run; see the module for the fields."""

    run_id: str
    run_dir: str
    pid: int
    started: int
    boot_id: str
    pid_namespace: str


def claim(directory: Path, run: Run) -> None:
    """Write down that a private directory belongs to this process and its run; nothing where there is no ``/proc``."""
    if not (PROC / "self" / "fd").is_dir():
        return
    pid = os.getpid()
    owner = Owner(run.run_id, str(run.run_dir), pid, started_at(pid), _boot_id(), _pid_namespace())
    partial = directory / f"{OWNER}.new"
    partial.write_bytes(orjson.dumps(owner._asdict()))
    partial.rename(directory / OWNER)


def sweep(root: Path, notice: Callable[[str], None]) -> None:
    """Clear what earlier runs left under ``root``.

    Args:
        root: where private directories are made.
        notice: told in one line what was cleared, if anything.
    """
    if not (PROC / "self" / "fd").is_dir():
        return
    cleared: list[str] = []
    ended = 0
    for directory in sorted(root.glob(f"{PREFIX}*"))[:LOOKED_AT_MAX]:
        owner = _owner_of(directory)
        if owner is None or not _is_gone(owner):
            continue
        ended += reap(directory, owner.started)
        shutil.rmtree(directory, ignore_errors=True)
        cleared.append(owner.run_id or str(directory))
    if cleared:
        names = ", ".join(cleared[:5]) + (f" and {len(cleared) - 5} more" if len(cleared) > 5 else "")
        notice(f"cleared what killed runs had left: {names}; {ended} processes ended")


def _owner_of(directory: Path) -> Owner | None:
    """Whose a directory is, if it is this user's and private; None where that does not stand there."""
    try:
        found = directory.lstat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077 or not directory.is_dir() or directory.is_symlink():
            return None
        with (directory / OWNER).open("rb") as file:
            body = orjson.loads(file.read(OWNER_BYTES_MAX))
        owner = Owner(**body)
    except (OSError, ValueError, TypeError):
        return None
    numbers = type(owner.pid) is int and type(owner.started) is int
    return owner if numbers and all(type(text) is str for text in (*owner[:2], *owner[4:])) else None


def _is_gone(owner: Owner) -> bool:
    """Whether a driver's process has ended; never claimed of one that this process could not see."""
    if owner.boot_id != _boot_id():
        return True  # the machine was started anew since
    if owner.pid_namespace != _pid_namespace():
        return False
    try:
        return started_at(owner.pid) != owner.started
    except OSError:
        return True


def _boot_id() -> str:
    return (PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()


def _pid_namespace() -> str:
    return str((PROC / "self" / "ns" / "pid").readlink())
