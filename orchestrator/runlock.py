"""The lock of a run directory: at most one live process writes a run.

``run.lock`` is an empty file until its owner writes its process id into it, for the message that a second start
prints; nothing ever reads it to decide anything. What decides is ``flock`` on the open file: the kernel gives it back
when the owner is gone, however it went, so a ``kill -9`` leaves no stale lock. The descriptor is not inherited by
programs that the owner starts.

The lock is taken before the journal is looked at. ``discard`` removes the file again where it turns out that the
directory is not a run's; since a file may be removed while another process waits at its door, whoever got a lock
looks whether the path still leads to the file that it locked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from orchestrator.files import FILE_MODE, close_own, make_private_directory, open_own, unwritable
from spec.errors import InputError, RunLocked

LOCK_NAME: Final = "run.lock"
_OWNER_BYTES_MAX: Final = 32


class RunLock:
    """A held lock; ``acquire`` is the only way to one, ``with`` gives it back at the end.

    Args:
        directory: the run directory.
        descriptor: the open, locked file.
    """

    def __init__(self, directory: Path, descriptor: int) -> None:
        self.directory = directory
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, directory: Path, *, create: bool = False) -> Self:
        """Take the lock of ``directory`` or fail at once; it never waits.

        Args:
            directory: the run directory.
            create: make the directory, 0700, where it is missing.

        Raises:
            RunLocked: a live process holds it.
            InputError: there is no such directory, and ``create`` is off.
            JournalUnwritable: the directory or the lock file cannot be made.
        """
        if create:
            make_private_directory(directory)
        elif not directory.is_dir():
            raise InputError(f"{directory}: there is no such run directory")
        path = directory / LOCK_NAME
        try:
            while (descriptor := _lock(path)) is None:
                pass
        except BlockingIOError as error:
            raise RunLocked(
                f"{directory}: another process{_owner(path)} runs here; wait for its end or use another directory"
            ) from error
        except OSError as error:
            raise unwritable(path, error) from error
        return cls(directory, descriptor)

    def release(self) -> None:
        """Give the lock back; a second call does nothing. The file stays."""
        if self._descriptor >= 0:
            close_own(self._descriptor)
            self._descriptor = -1

    def discard(self) -> None:
        """Remove the lock file, then give the lock back: for a directory that turned out to be none of ours."""
        with contextlib.suppress(OSError):  # an empty file left behind harms nobody
            (self.directory / LOCK_NAME).unlink()
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_locked(run_dir: Path) -> bool:
    """Whether a live process works on a run; takes a shared lock for a moment and changes nothing."""
    try:
        descriptor = os.open(run_dir / LOCK_NAME, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _lock(path: Path) -> int | None:
    """A locked descriptor, or None where the file was removed between its opening and its locking."""
    descriptor = open_own(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _leads_to(path, descriptor):
            close_own(descriptor)
            return None
        os.fchmod(descriptor, FILE_MODE)
    except OSError:
        close_own(descriptor)
        raise
    with contextlib.suppress(OSError):  # a full disk costs the next start a word of its message, not this one its lock
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
    return descriptor


def _leads_to(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _owner(path: Path) -> str:
    """`` (12345)`` where the lock file names its owner's process id, else nothing."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        text = file.read(_OWNER_BYTES_MAX).strip()
        if text.isdigit():
            return f" ({text.decode()})"
    return ""
