"""The rows of a table that comes page by page: in memory while they are few, on disk once they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oracle.channels.failing import NoReading
from oracle.rows import ROWS_IN_MEMORY_MAX, RowStore, StoreFull
from spec.reading import Record
from spec.values import NotJson

PART_ROWS: Final = 1000
"""Rows that are written to disk at once."""


class GatheredRows:
    """Takes rows as they come; ``len`` says how many there are."""

    def __init__(self) -> None:
        self._waiting: list[Record] = []
        self._store: RowStore | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Sequence[Record]) -> None:
        """Take rows.

        Raises:
            NoReading: they cannot be kept.
        """
        self._waiting += rows
        self._count += len(rows)
        if len(self._waiting) > (ROWS_IN_MEMORY_MAX if self._store is None else PART_ROWS):
            self._write()

    def finish(self) -> Sequence[Record]:
        """All of them, in order; none may be added behind it.

        Raises:
            NoReading: they cannot be kept.
        """
        if self._store is None:
            return self._waiting
        self._write()
        return self._store.finish()

    def _write(self) -> None:
        try:
            if self._store is None:
                self._store = RowStore()
            self._store.extend(self._waiting)
        except (NotJson, StoreFull) as error:
            raise NoReading(str(error)) from None
        except OSError as error:
            raise NoReading(f"the rows cannot be kept on disk: {error.strerror}") from None
        self._waiting = []
