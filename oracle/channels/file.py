"""Channel ``file``: a record in files, read whole and only while they stand still.

A read path says ``tables``: table -> {``path``, ``format``: json, jsonl, csv or parquet}. A file that is not there is
no reading, unless the path says ``missing = "empty"``; nor is one that is no plain file, that changes while the record
is read, or that ends within a line.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple

import anyio

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import NoReading
from oracle.channels.file_formats import Formats
from oracle.channels.threads import Leash, read_in_threads
from oracle.rows import StoreFull, kept_rows
from spec.canonical import JsonObject
from spec.reading import ChannelName, ReadPath, Record, Tables
from spec.values import NotJson

THREADS_MAX: Final = 4
READING_S: Final = 60.0
_KNOWN: Final = ("tables", "missing")


class _Wanted(NamedTuple):
    table: str
    path: str
    format: str


class FileChannel:
    """Reads files (``oracle.base.Channel``).

    Args:
        _context: files need neither credentials nor workers.
        reading_s: seconds that one reading may take.
    """

    name: str = ChannelName.FILE.value
    batches: bool = False

    def __init__(self, _context: ChannelContext, reading_s: float = READING_S) -> None:
        self._reading_s = reading_s
        self._threads = anyio.CapacityLimiter(THREADS_MAX)
        self._formats = Formats()

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each; answers in order."""
        return await read_in_threads(paths, self._read, self._threads, self._reading_s)

    async def close(self) -> None:
        """Give back what reading needs; no file is open."""
        self._formats.close()

    def _read(self, where: JsonObject, leash: Leash) -> Tables:
        wanted, may_miss = _wanted(where, self._formats.readers)
        seen = [(one, _look(one.path, may_miss)) for one in wanted]
        tables = {one.table: self._rows(one, leash) if look else [] for one, look in seen}
        for one, look in seen:
            if _look(one.path, may_miss) != look:
                raise NoReading(f"{one.path} changed while it was read")
        return tables

    def _rows(self, one: _Wanted, leash: Leash) -> Sequence[Record]:
        leash.check()
        try:
            with _opened(one.path) as file:
                return kept_rows(self._formats.readers[one.format](file, leash))
        except (NoReading, NotJson, StoreFull) as error:
            raise NoReading(f"{one.path}: {error}") from None


def _wanted(where: JsonObject, formats: Mapping[str, object]) -> tuple[Sequence[_Wanted], bool]:
    """What a read path asks for, and whether a file may be missing."""
    unknown = [name for name in where if name not in _KNOWN]
    if unknown:
        raise NoReading(f"a read path of channel file has no {unknown[0]!r}; it has {', '.join(_KNOWN)}")
    tables, missing = where.get("tables"), where.get("missing")
    if not isinstance(tables, Mapping) or not tables:
        raise NoReading("tables of a read path must be an object: table -> path and format")
    if missing not in (None, "empty"):
        raise NoReading('missing of a read path can only be "empty"')
    wanted = []
    for table, place in tables.items():
        if not isinstance(place, Mapping) or set(place) != {"path", "format"}:
            raise NoReading(f"table {table!r} of a read path needs path and format, and nothing else")
        path, form = place["path"], place["format"]
        if not isinstance(path, str) or not os.path.isabs(path):  # noqa: PTH117 - it is a text until it is opened
            raise NoReading(f"table {table!r}: {path!r} is no absolute path")
        if form not in formats:
            raise NoReading(f"table {table!r}: no format is called {form!r}; there are {', '.join(formats)}")
        wanted.append(_Wanted(table, path, str(form)))
    return wanted, missing == "empty"


def _look(path: str, may_miss: bool) -> tuple[int, ...] | None:
    """Which file stands at a path, and its last change; None where none has to be there."""
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        if may_miss:
            return None
        raise NoReading(f"there is no file {path}") from None
    except OSError as error:
        raise NoReading(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(state.st_mode):
        raise NoReading(f"{path} is no plain file")
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise NoReading(str(error.strerror)) from None
    with os.fdopen(descriptor, "rb") as file:
        yield file
