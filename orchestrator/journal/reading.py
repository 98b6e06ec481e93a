"""Single lines of a journal by their offset, for whoever renders a run without holding its rows in memory."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from orchestrator.journal.lines import LINE_BYTES_MAX, is_right
from spec.errors import JournalDamaged

_FIRST_BYTES: Final = 4096


class LineReader:
    """Reads lines of one journal by offset; any number may read while one process appends.

    Args:
        path: the journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_RDONLY)

    def read(self, offset_bytes: int) -> bytes:
        """The line that begins at an offset, line break included, checked once more.

        Args:
            offset_bytes: as ``append`` or ``recover`` gave it, of a line that was committed.

        Raises:
            JournalDamaged: no right line begins there.
        """
        size = _FIRST_BYTES
        while True:
            data = os.pread(self._descriptor, size, offset_bytes)
            end = data.find(b"\n") + 1
            if end or len(data) < size or size > LINE_BYTES_MAX:
                break
            size *= 4
        line = data[:end]
        if not is_right(line):
            raise JournalDamaged(str(self._path), offset_bytes, "no right line begins here")
        return line

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
