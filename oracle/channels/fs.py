"""Channel ``fs``: a directory tree as one table, a row for everything in it.

A read path says ``root``, and ``table`` where it is not to be ``files``; ``missing = "empty"`` makes a root that is not
there an empty tree. A row has ``path`` below the root, ``type`` (file, directory, symlink, other), ``mode`` in octal,
and besides what there is of ``size``, ``sha256``, ``text`` (of small files in UTF-8) and ``target`` (of a symlink,
which is never followed). A tree that changes while it is read is no reading.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final

import anyio

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import NoReading
from oracle.channels.threads import Leash, read_in_threads
from oracle.rows import StoreFull, kept_rows
from spec.canonical import Json, JsonObject
from spec.reading import ChannelName, ReadPath, Record, Tables
from spec.values import NotJson

THREADS_MAX: Final = 4
READING_S: Final = 60.0
ENTRIES_MAX: Final = 200_000
DEPTH_MAX: Final = 64
BYTES_MAX: Final = 8 * 2**30
TEXT_BYTES_MAX: Final = 65_536
BLOCK_BYTES: Final = 1 << 20
PART_ROWS: Final = 1000
_KNOWN: Final = ("root", "table", "missing")
_TYPES: Final = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}
_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FsChannel:
    """Reads directory trees (``oracle.base.Channel``).

    Args:
        _context: trees need neither credentials nor workers.
        reading_s: seconds that one reading may take.
    """

    name: str = ChannelName.FS.value
    batches: bool = False

    def __init__(self, _context: ChannelContext, reading_s: float = READING_S) -> None:
        self._reading_s = reading_s
        self._threads = anyio.CapacityLimiter(THREADS_MAX)

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each; answers in order."""
        return await read_in_threads(paths, _read, self._threads, self._reading_s)

    async def close(self) -> None:
        """Nothing is held open."""


def _read(where: JsonObject, leash: Leash) -> Tables:
    unknown = [name for name in where if name not in _KNOWN]
    if unknown:
        raise NoReading(f"a read path of channel fs has no {unknown[0]!r}; it has {', '.join(_KNOWN)}")
    root, table, missing = where.get("root"), where.get("table", "files"), where.get("missing")
    if not isinstance(root, str) or not os.path.isabs(root):  # noqa: PTH117 - it is a text until it is opened
        raise NoReading(f"root of a read path is no absolute path: {root!r}")
    if not isinstance(table, str) or not table:
        raise NoReading("table of a read path is no name")
    if missing not in (None, "empty"):
        raise NoReading('missing of a read path can only be "empty"')
    try:
        return {table: kept_rows(_Tree(leash).parts(root))}
    except FileNotFoundError as error:
        if missing == "empty" and error.filename == root:
            return {table: []}
        raise NoReading(f"there is no {error.filename}") from None
    except (NotJson, StoreFull) as error:
        raise NoReading(str(error)) from None
    except OSError as error:
        raise NoReading(f"{error.filename or root}: {error.strerror}") from None


class _Tree:
    """One walk through a tree, and a second look at everything at its end."""

    def __init__(self, leash: Leash) -> None:
        self._leash = leash
        self._seen: list[tuple[str, tuple[int, ...]]] = []
        self._bytes = 0

    def parts(self, root: str) -> Iterator[Sequence[Record]]:
        """All rows, parents before what is in them, by name."""
        part: list[Record] = []
        descriptor = os.open(root, _OPEN | os.O_DIRECTORY)
        try:
            self._seen.append((".", _state(os.fstat(descriptor))))
            for row in self._entries(descriptor, "", 0):
                part.append(row)
                if len(part) == PART_ROWS:
                    yield part
                    part = []
            yield part
            self._look_again(descriptor)
        finally:
            os.close(descriptor)

    def _look_again(self, root: int) -> None:
        """A tree has no moment of its own: what has not changed from its first look to now stood so at one moment."""
        for path, state in self._seen:
            try:
                now = _state(os.stat(path, dir_fd=root, follow_symlinks=False))
            except OSError:
                now = ()
            if now != state:
                raise NoReading(f"{path} changed while the tree was read")

    def _entries(self, directory: int, above: str, depth: int) -> Iterator[Record]:
        if depth > DEPTH_MAX:
            raise NoReading(f"{above} lies deeper than {DEPTH_MAX} directories")
        self._leash.check()
        for name in sorted(os.listdir(directory)):
            path = f"{above}{name}"
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
            self._seen.append((path, _state(found)))
            if len(self._seen) > ENTRIES_MAX:
                raise NoReading(f"the tree has more than {ENTRIES_MAX} entries")
            kind = _TYPES.get(stat.S_IFMT(found.st_mode), "other")
            row: dict[str, Json] = {"path": _text(path), "type": kind, "mode": f"{stat.S_IMODE(found.st_mode):04o}"}
            if kind == "file":
                row |= self._file(directory, name, found.st_size)
            elif kind == "symlink":
                row["target"] = _text(os.readlink(name, dir_fd=directory))
            yield row
            if kind == "directory":
                below = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=directory)
                try:
                    yield from self._entries(below, f"{path}/", depth + 1)
                finally:
                    os.close(below)

    def _file(self, directory: int, name: str, expected_size: int) -> dict[str, Json]:
        """Size, digest and text. A file that has another size than it had a moment ago is found by the second look."""
        descriptor = os.open(name, _OPEN, dir_fd=directory)
        try:
            first = os.read(descriptor, TEXT_BYTES_MAX + 1)
            digest, size, block = hashlib.sha256(first), len(first), first
            while block and size != expected_size:
                self._leash.check()
                block = os.read(descriptor, BLOCK_BYTES)
                digest.update(block)
                size += len(block)
                if self._bytes + size > BYTES_MAX:
                    break
        finally:
            os.close(descriptor)
        self._bytes += size
        if self._bytes > BYTES_MAX:
            raise NoReading(f"the tree has more than {BYTES_MAX} bytes")
        row: dict[str, Json] = {"size": size, "sha256": digest.hexdigest()}
        if size <= TEXT_BYTES_MAX and (text := _utf8(first)) is not None:
            row["text"] = text
        return row


def _state(found: os.stat_result) -> tuple[int, ...]:
    return (
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


def _text(path: str) -> str:
    """A path as text; bytes that are no UTF-8 are spelled out."""
    return path if path.isascii() else os.fsencode(path).decode("utf-8", "backslashreplace")


def _utf8(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
