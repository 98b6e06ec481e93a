"""Private directories of a server: in memory where there is room, else among the temporary files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from providers.postgres.leftovers import PREFIX, claim
from providers.postgres.user import ServerUser

MEMORY: Final = Path("/dev/shm")  # noqa: S108 - names in it are drawn and directories are private
MEMORY_FREE_BYTES_MIN: Final = 512 * 1024 * 1024
"""A memory file system with less room is not used: a container often has 64 MiB."""

SOCKET_PATH_BYTES_MAX: Final = 100
"""The kernel takes 107 bytes for the path of a unix socket; the path of a directory here stays below."""


def roots() -> tuple[Path, ...]:
    """Every place where private directories are made."""
    return MEMORY, Path(tempfile.gettempdir()), Path("/tmp")  # noqa: S108 - as above


def best_root(free_bytes_min: int = MEMORY_FREE_BYTES_MIN) -> Path:
    """Where a server's files should be.

    Args:
        free_bytes_min: room that the memory file system must have.
    """
    if os.access(MEMORY, os.W_OK | os.X_OK) and _free_bytes(MEMORY) >= free_bytes_min:
        return MEMORY
    chosen = Path(tempfile.gettempdir())
    return chosen if len(os.fsencode(chosen)) < SOCKET_PATH_BYTES_MAX // 2 else Path("/tmp")  # noqa: S108 - as above


def make_private(root: Path) -> Path:
    """A new directory of this process that others may pass through, but neither list nor write."""
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    directory.chmod(0o711)
    claim(directory)
    return directory


def make_part(directory: Path, name: str, user: ServerUser | None = None) -> Path:
    """A directory of mode 0700 in a private one.

    Args:
        directory: the private one.
        name: of the new one.
        user: who owns it; None: we do.
    """
    part = directory / name
    part.mkdir()
    part.chmod(0o700)
    if user is not None and user.changed:
        os.chown(part, user.uid, user.gid)
    return part


def runs_programs(directory: Path) -> bool:
    """Whether the file system there lets programs be started."""
    return not os.statvfs(directory).f_flag & os.ST_NOEXEC


def _free_bytes(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
