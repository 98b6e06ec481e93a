"""Rows of a large table, kept on disk instead of in memory: what a reading holds until it is judged.

Rows stand as JSON in an anonymous temporary file, a line each; memory has 24 bytes a row: where it ends, and a digest
of its bytes. Equal digests mean equal bytes, and so rows of equal content; different ones mean nothing yet, since one
content can be written in several ways (5 and 5.0 in a field of numbers).
"""

from __future__ import annotations

import os
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
import orjson
from numpy.typing import NDArray

from spec.canonical import is_finite
from spec.reading import Record
from spec.values import NotJson

ROWS_IN_MEMORY_MAX: Final = 10_000
"""Rows that a reading keeps in memory; a table with more of them goes to disk."""

STORE_BYTES_MAX: Final = 16 * 2**30
CHUNK_BYTES: Final = 1 << 20
DIGEST_BYTES: Final = 16

Digests = NDArray[np.uint64]
"""One digest a row, as two numbers."""

Places = NDArray[np.int64]
"""Rows by their place in the table."""


class StoreFull(ValueError):
    """Raised when a table is larger than a reading may be."""


class _File:
    """An anonymous file that is closed with its last user."""

    def __init__(self, folder: Path | None) -> None:
        with tempfile.TemporaryFile(dir=folder) as opened:
            self.descriptor = os.dup(opened.fileno())
        self.close = weakref.finalize(self, os.close, self.descriptor)

    def append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def read(self, start: int, end: int) -> bytes:
        parts = []
        while start < end:
            part = os.pread(self.descriptor, end - start, start)
            if not part:
                raise OSError("the file of a reading is shorter than it was")
            parts.append(part)
            start += len(part)
        return b"".join(parts)


class StoredRows(Sequence[Record]):
    """Rows on disk; made by ``RowStore``. Every access reads the row anew, and equal rows are not one object.

    Attributes:
        digests: of each row's bytes.
    """

    def __init__(self, file: _File, ends: NDArray[np.uint64], digests: Digests) -> None:
        self._file, self._ends = file, ends
        self.digests = digests

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return list(self.pick(np.arange(len(self))[place]))
        place = range(len(self))[place]
        return _record(self._file.read(self._start(place), int(self._ends[place])))

    def __iter__(self) -> Iterator[Record]:
        for part in self.parts():
            yield from part

    def parts(self) -> Iterator[list[Record]]:
        """All rows in order, in lists of about ``CHUNK_BYTES``."""
        first = 0
        while first < len(self):
            start = self._start(first)
            after = int(np.searchsorted(self._ends, np.uint64(start + CHUNK_BYTES), side="right"))
            after = max(after, first + 1)
            yield _records(self._file.read(start, int(self._ends[after - 1])))
            first = after

    def pick(self, places: Places) -> Iterator[Record]:
        """The rows at some places, in the order of the places; neighbours are read together."""
        for run in _runs(places):
            first, after = int(places[run.start]), int(places[run.stop - 1]) + 1
            while first < after:
                start = self._start(first)
                stop = int(np.searchsorted(self._ends, np.uint64(start + CHUNK_BYTES), side="right"))
                stop = min(max(stop, first + 1), after)
                yield from _records(self._file.read(start, int(self._ends[stop - 1])))
                first = stop

    def _start(self, place: int) -> int:
        return int(self._ends[place - 1]) if place else 0


class Picked(Sequence[Record]):
    """Some rows of a table on disk, read when they are looked at.

    Args:
        rows: the table.
        places: which, in order.
    """

    def __init__(self, rows: StoredRows, places: Places) -> None:
        self._rows, self._places = rows, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return Picked(self._rows, self._places[place])
        return self._rows[int(self._places[place])]

    def __iter__(self) -> Iterator[Record]:
        return self._rows.pick(self._places)


class RowStore:
    """Takes rows one part after another and becomes a ``StoredRows``.

    Args:
        folder: where the file is made; None: where temporary files go on this machine.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._file = _File(folder)
        self._ends, self._end = array("Q"), 0
        self._digests = bytearray()

    def extend(self, rows: Sequence[Record]) -> None:
        """Add rows.

        Raises:
            spec.values.NotJson: a row cannot stand as JSON.
            StoreFull: the table has become too large.
            OSError: the disk is full.
        """
        lines = [_line(row) for row in rows]
        for line in lines:
            self._end += len(line)
            self._ends.append(self._end)
        if self._end > STORE_BYTES_MAX:
            raise StoreFull(f"a table has more than {STORE_BYTES_MAX} bytes")
        self._digests += b"".join([blake2b(line, digest_size=DIGEST_BYTES).digest() for line in lines])
        self._file.append(b"".join(lines))

    def finish(self) -> StoredRows:
        """The rows so far; nothing may be added behind it."""
        digests = np.frombuffer(self._digests, np.uint64).reshape(-1, 2)
        return StoredRows(self._file, np.frombuffer(self._ends, np.uint64), digests)


def kept_rows(parts: Iterable[Sequence[Record]], folder: Path | None = None) -> Sequence[Record]:
    """Rows that come in parts: a list of them, or from ``ROWS_IN_MEMORY_MAX`` on a table on disk.

    Raises:
        spec.values.NotJson: a row of a large table cannot stand as JSON.
        StoreFull: the table is too large.
        OSError: the disk is full.
    """
    rows: list[Record] = []
    store: RowStore | None = None
    for part in parts:
        if store is None:
            rows += part
            if len(rows) > ROWS_IN_MEMORY_MAX:
                store = RowStore(folder)
                store.extend(rows)
                rows = []
        else:
            store.extend(part)
    return rows if store is None else store.finish()


def _line(row: Any) -> bytes:  # noqa: ANN401 - what is no record is refused here
    """A row's bytes, a line break last. What JSON has no form for would become null, or another type, unseen."""
    if type(row) is not dict:
        raise NotJson(f"a row is a {type(row).__name__}, not a record")
    try:
        line = orjson.dumps(row, option=_AS_IT_STANDS)
    except TypeError as error:
        raise NotJson(f"a row is not JSON: {error}") from error
    if b"null" in line and not is_finite(row):
        raise NotJson("a row has a number that is not JSON")
    return line


_AS_IT_STANDS: Final = (
    orjson.OPT_APPEND_NEWLINE
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


def _record(line: bytes) -> Record:
    row: Record = orjson.loads(line)
    return row


def _records(lines: bytes) -> list[Record]:
    """Whole lines at once: no JSON text has a line break of its own."""
    rows: list[Record] = orjson.loads(b"[" + lines[:-1].replace(b"\n", b",") + b"]")
    return rows


def _runs(places: Places) -> Iterator[range]:
    """Stretches of places that are neighbours in the table."""
    if not len(places):
        return
    breaks = np.flatnonzero(np.diff(places) != 1) + 1
    starts = [0, *breaks.tolist(), len(places)]
    for start, stop in pairwise(starts):
        yield range(start, stop)
