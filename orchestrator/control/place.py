"""Where the socket of a run lies: in a private directory with a short path, linked from the run directory.

A socket's path has a hard limit of 107 bytes, which a run directory's own path may well exceed. Whoever makes the place
holds the run's lock, so a link that is there already is that of a session that was killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from orchestrator.files import DIRECTORY_MODE

LINK_NAME: Final = "control"
SOCKET_NAME: Final = "control"
SOCKET_PATH_BYTES_MAX: Final = 107
_PREFIX: Final = "toc-"
_SHORT_ROOT: Final = "/tmp"  # noqa: S108 - mkdtemp makes it private
_OURS: Final = re.compile(rf"{_PREFIX}[A-Za-z0-9_]{{8}}")


def identity(run_dir: Path) -> str:
    """Which directory this is, for two processes that may call it differently."""
    found = run_dir.stat()
    return f"{found.st_dev}:{found.st_ino}"


@contextmanager
def private_path(temp_dir: Path | None = None) -> Iterator[Path]:
    """A path for a socket in a directory that nobody else may enter and that is removed with all that is in it.

    A copy of this process, forked by an arm, removes nothing when it leaves.

    Args:
        temp_dir: the system's directory for temporary files; None: as Python finds it.

    Raises:
        OSError: there can be none here.
    """
    owner = os.getpid()
    root = short_root(Path(tempfile.gettempdir()) if temp_dir is None else temp_dir)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
    try:
        directory.chmod(DIRECTORY_MODE)  # once more, since a umask can take bits from the owner too
        yield directory / SOCKET_NAME
    finally:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def linked(run_dir: Path, path: Path) -> Iterator[None]:
    """Let the run directory lead to a socket, which listens already, for as long as the context lasts.

    Args:
        run_dir: the run directory, whose lock is held.
        path: of ``private_path``.

    Raises:
        OSError: the directory takes no link, or what stands in its place is none.
    """
    link, owner = run_dir / LINK_NAME, os.getpid()
    _clear_stale(link)
    _put_link(link, path)
    try:
        yield
    finally:
        if os.getpid() == owner:
            with contextlib.suppress(OSError):
                if link.readlink() == path:
                    link.unlink()


def short_root(temp_dir: Path) -> Path:
    """A directory below which a socket's path is short enough: this one, else /tmp."""
    longest = temp_dir / f"{_PREFIX}12345678" / SOCKET_NAME
    return temp_dir if len(os.fsencode(longest)) <= SOCKET_PATH_BYTES_MAX else Path(_SHORT_ROOT)


def linked_socket(run_dir: Path) -> Path | None:
    """Where the run directory's link leads, or None where it leads to no socket of the directory's owner."""
    try:
        target = (run_dir / LINK_NAME).readlink()
        found = target.lstat()
        owner = run_dir.stat().st_uid
    except (OSError, ValueError):
        return None
    fits = target.is_absolute() and len(os.fsencode(target)) <= SOCKET_PATH_BYTES_MAX
    return target if fits and stat.S_ISSOCK(found.st_mode) and found.st_uid == owner else None


def _put_link(link: Path, path: Path) -> None:
    temporary = link.with_name(f".{link.name}.{secrets.token_hex(4)}.tmp")
    temporary.symlink_to(path)
    try:
        temporary.replace(link)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _clear_stale(link: Path) -> None:
    """Remove what a killed session left behind its link, and only what is certainly that.

    Raises:
        FileExistsError: what stands there is no link, so it is not ours to replace.
    """
    try:
        target = link.readlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileExistsError(f"{link} is in the way") from error
    directory = target.parent
    with contextlib.suppress(OSError):
        found = directory.lstat()
        private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if private and _OURS.fullmatch(directory.name) and target.name == SOCKET_NAME:
            target.unlink(missing_ok=True)
            directory.rmdir()  # of nothing but an empty directory
