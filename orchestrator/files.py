"""Everything that writes a durable file goes through here.

``FileSystem`` is the one seam between this project and the disk: the journal and the derived files use it and nothing
else, so that a test can fail the n-th write or sync. ``OsFiles`` is the real one. Files are 0600 and directories 0700
whatever the umask says.

A derived file (summary, report, rows in plan order) is written by ``write_atomically``: after a crash at any point
its path holds the old bytes or the new bytes, whole; what may be left beside it is a hidden ``.<name>.<hex>.tmp``.

Foreign errors end here: an ``OSError`` of the disk becomes ``JournalUnwritable``, with path, reason and what to do.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from spec.errors import JournalUnwritable

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
BLOCK_BYTES: Final = 1 << 20
_LAST_STREAM: Final = 2


class FileSystem(Protocol):
    """The operations on a disk that this project's files rest on; each may raise ``OSError``."""

    def create(self, path: Path) -> int:
        """Create a file that must not exist, mode 0600, and give a descriptor that appends."""

    def open_append(self, path: Path) -> int:
        """Open a file that must exist, and give a descriptor that appends."""

    def write(self, descriptor: int, data: bytes) -> int:
        """Write once, and give the count of bytes taken, which may be fewer than given."""

    def datasync(self, descriptor: int) -> None:
        """Return when the file's bytes and its size are on the disk."""

    def fsync(self, descriptor: int) -> None:
        """Return when the file's bytes and all of its metadata are on the disk."""

    def fsync_dir(self, directory: Path) -> None:
        """Return when the directory's entries are on the disk."""

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """Cut the file to ``size_bytes``."""

    def close(self, descriptor: int) -> None:
        """Give the descriptor back."""

    def replace(self, source: Path, target: Path) -> None:
        """Put ``source`` in the place of ``target`` in one step."""

    def unlink(self, path: Path) -> None:
        """Remove a file."""

    def free_bytes(self, directory: Path) -> int:
        """How many bytes this user may still write on the directory's file system."""


_own_descriptors: Final[set[int]] = set()


def open_own(path: Path, flags: int) -> int:
    """Open a file that is this process's alone.

    A copy of this process, forked by an arm, does not get it, so that it neither writes into it nor holds its lock.
    Its number is none of a standard stream, even where an arm has closed those, so that no print lands in it.

    Args:
        path: the file.
        flags: as ``os.open`` takes them.
    """
    descriptor = os.open(path, flags, FILE_MODE)
    if descriptor <= _LAST_STREAM:
        low, descriptor = descriptor, fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LAST_STREAM + 1)
        os.close(low)
    _own_descriptors.add(descriptor)
    return descriptor


def close_own(descriptor: int) -> None:
    """Close what ``open_own`` gave."""
    _own_descriptors.discard(descriptor)
    os.close(descriptor)


@contextlib.contextmanager
def owned(descriptor: int) -> Iterator[None]:
    """Keep a descriptor that somebody else opens and closes, such as a socket's, from copies that are forked meanwhile.

    Args:
        descriptor: open for as long as the context lasts.
    """
    _own_descriptors.add(descriptor)
    try:
        yield
    finally:
        _own_descriptors.discard(descriptor)


def _close_in_copies() -> None:
    for descriptor in _own_descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _own_descriptors.clear()


os.register_at_fork(after_in_child=_close_in_copies)


class OsFiles:
    """The machine's own files."""

    def create(self, path: Path) -> int:
        """See ``FileSystem``. The mode is set once more, since a umask can take bits from the owner too."""
        descriptor = open_own(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)
        os.fchmod(descriptor, FILE_MODE)
        return descriptor

    def open_append(self, path: Path) -> int:
        """See ``FileSystem``."""
        return open_own(path, os.O_WRONLY | os.O_APPEND)

    def write(self, descriptor: int, data: bytes) -> int:
        """See ``FileSystem``."""
        return os.write(descriptor, data)

    def datasync(self, descriptor: int) -> None:
        """See ``FileSystem``. macOS keeps ``fsync`` in the drive's cache; only ``F_FULLFSYNC`` goes to the disk."""
        if sys.platform == "darwin":
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(descriptor)

    def fsync(self, descriptor: int) -> None:
        """See ``FileSystem``."""
        if sys.platform == "darwin":
            self.datasync(descriptor)
        else:
            os.fsync(descriptor)

    def fsync_dir(self, directory: Path) -> None:
        """See ``FileSystem``."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        """See ``FileSystem``."""
        os.ftruncate(descriptor, size_bytes)

    def close(self, descriptor: int) -> None:
        """See ``FileSystem``."""
        close_own(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """See ``FileSystem``."""
        source.replace(target)

    def unlink(self, path: Path) -> None:
        """See ``FileSystem``."""
        path.unlink()

    def free_bytes(self, directory: Path) -> int:
        """See ``FileSystem``."""
        return shutil.disk_usage(directory).free


OS_FILES: Final = OsFiles()


class ShortWrite(OSError):
    """Raised when the disk took only a part of a write, as it does just before it is full.

    Args:
        taken_bytes: how many bytes it took.
        given_bytes: how many it was given.
    """

    def __init__(self, taken_bytes: int, given_bytes: int) -> None:
        self.taken_bytes, self.given_bytes = taken_bytes, given_bytes
        super().__init__(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: it took {taken_bytes} of {given_bytes} bytes")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the figures when the error crosses a process border."""
        return type(self), (self.taken_bytes, self.given_bytes)


_ROOM: Final = "free some space"
_RIGHTS: Final = "make the directory writable for this user"
_HINTS: Final = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit on the size of a file (`ulimit -f`)",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "use a directory on a file system that can be written",
    errno.EIO: "check the disk (`dmesg`)",
    errno.EMFILE: "raise the limit on open files (`ulimit -n`)",
}


def unwritable(path: Path, error: OSError) -> JournalUnwritable:
    """The error that says which path cannot be written, why, and what to do about it."""
    reason = error.strerror or str(error) or type(error).__name__
    name = errno.errorcode.get(error.errno or 0, "")
    hint = _HINTS.get(error.errno or 0, "see to the cause")
    return JournalUnwritable(
        f"{path}: cannot be written: {reason}{f' [{name}]' if name else ''}; {hint}, then `resume`"
    )


def write_whole(files: FileSystem, descriptor: int, data: bytes) -> None:
    """Write ``data`` in one operation.

    Raises:
        ShortWrite: only a part was taken; that part stands in the file, and the caller has to cut it off.
        OSError: nothing was taken.
    """
    taken = files.write(descriptor, data)
    if taken != len(data):
        raise ShortWrite(taken, len(data))


def write_atomically(path: Path, data: bytes | Iterable[bytes], files: FileSystem = OS_FILES) -> None:
    """Put ``data`` at ``path`` so that no reader and no crash ever sees a part of it.

    A temporary file in the same directory is written and synced, put in the place of ``path``, and the directory is
    synced. On any failure, one of the chunks' own iterator included, the temporary file is removed.

    Args:
        path: the file to write or to replace.
        data: its bytes, or an iterator over pieces of any size, which is never held as a whole.
        files: the disk.

    Raises:
        JournalUnwritable: the disk refused; ``path`` holds what it held before.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    blocks = iter((data,)) if isinstance(data, bytes) else _blocks(data)
    try:
        _write_new(temporary, blocks, files)
        try:
            files.replace(temporary, path)
        except BaseException:
            _unlink_quietly(temporary, files)
            raise
        files.fsync_dir(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error


def _write_new(path: Path, blocks: Iterator[bytes], files: FileSystem) -> None:
    descriptor = files.create(path)
    try:
        try:
            for block in blocks:
                write_whole(files, descriptor, block)
            files.fsync(descriptor)
        finally:
            files.close(descriptor)
    except BaseException:
        _unlink_quietly(path, files)
        raise


def _unlink_quietly(path: Path, files: FileSystem) -> None:
    with contextlib.suppress(OSError):  # the first error is the one to report
        files.unlink(path)


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of about a mebibyte, so that a million short rows are not a million writes."""
    block = bytearray()
    for chunk in chunks:
        block += chunk
        if len(block) >= BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    yield bytes(block)


def make_private_directory(directory: Path, files: FileSystem = OS_FILES) -> None:
    """Make ``directory`` and what is missing above it, so that it is still there after a power loss.

    The directory itself gets 0700, what is missing above it the umask's mode. One that exists keeps its mode: it may
    be somebody's, such as ``/tmp``.

    Raises:
        JournalUnwritable: it cannot be made, or something that is no directory stands there.
    """
    try:
        missing = [place for place in (directory, *directory.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir(DIRECTORY_MODE if place == directory else 0o777, exist_ok=True)
            files.fsync_dir(place.parent)
        if missing:
            directory.chmod(DIRECTORY_MODE)
        elif not directory.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise unwritable(directory, error) from error


def check_room(directory: Path, disk_free_min_bytes: int, files: FileSystem = OS_FILES) -> None:
    """Find out before the first trial whether the run can be kept: is there room, and can a file be made and synced.

    Args:
        directory: the run directory, which exists.
        disk_free_min_bytes: the least that must be free, in bytes.
        files: the disk.

    Raises:
        JournalUnwritable: with path, figures and what to do.
    """
    probe = directory / f".probe.{secrets.token_hex(4)}.tmp"
    try:
        free = files.free_bytes(directory)
        if free < disk_free_min_bytes:
            raise JournalUnwritable(
                f"{directory}: {free} bytes are free and limits.disk_free_min_bytes asks for {disk_free_min_bytes}; "
                "free some space, use another directory or lower the limit"
            )
        _write_new(probe, iter((b"\n",)), files)
        files.unlink(probe)
    except OSError as error:
        raise unwritable(directory, error) from error
