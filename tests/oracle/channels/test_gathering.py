"""Rows that come in parts are all there, in order, in memory or on disk."""

from __future__ import annotations

import pytest

from oracle.channels.failing import NoReading
from oracle.channels.gathering import PART_ROWS, GatheredRows
from oracle.rows import ROWS_IN_MEMORY_MAX, StoredRows
from spec.reading import Record


def numbered(start: int, end: int) -> list[Record]:
    return [{"id": number} for number in range(start, end)]


@pytest.mark.parametrize("part", [1, 7, PART_ROWS, PART_ROWS + 1, ROWS_IN_MEMORY_MAX + 1])
@pytest.mark.parametrize("count", [0, 1, ROWS_IN_MEMORY_MAX, ROWS_IN_MEMORY_MAX + 1, ROWS_IN_MEMORY_MAX + 2345])
def test_every_row_is_kept_in_order(part: int, count: int) -> None:
    """However the rows come; only a large table is on disk."""
    gathered = GatheredRows()
    for start in range(0, count, part):
        gathered.add(numbered(start, min(start + part, count)))
    assert len(gathered) == count
    rows = gathered.finish()
    assert isinstance(rows, StoredRows) is (count > ROWS_IN_MEMORY_MAX)
    assert list(rows) == numbered(0, count)


def test_a_row_that_cannot_be_kept_is_no_reading() -> None:
    """What JSON has no form for fails with its reason."""
    gathered = GatheredRows()
    with pytest.raises(NoReading, match="a row is not JSON"):
        gathered.add([{"id": {1}}] * (ROWS_IN_MEMORY_MAX + 1))  # type: ignore[dict-item]  # on purpose
