"""Rows on disk are the rows that were put there: in order, by place, by parts, and closed with their last user."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import rows as module
from oracle.rows import Picked, RowStore, StoredRows, StoreFull, kept_rows
from spec.reading import Record
from spec.values import NotJson

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\n", max_size=2), inner, max_size=3),
    max_leaves=5,
)
tables = st.lists(st.dictionaries(st.text("abc", max_size=2), json_values, max_size=4), max_size=20)


def keep(rows: Sequence[Record]) -> StoredRows:
    store = RowStore()
    store.extend(rows)
    return store.finish()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@given(tables, st.integers(1, 7))
def test_rows_come_back_as_they_were(rows: list[Record], chunk: int) -> None:
    """By iteration, by place from either end and by slice, whatever the size of a part."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CHUNK_BYTES", chunk * 8)
        kept = keep(rows)
        assert list(kept) == rows
        assert [kept[place] for place in range(-len(rows), len(rows))] == rows + rows
        assert (list(kept[1:-1]), list(kept[::-2])) == (rows[1:-1], rows[::-2])
    with pytest.raises(IndexError):
        kept[len(rows)]


@given(tables, st.data())
def test_picked_rows_stand_in_the_order_of_their_places(rows: list[Record], data: st.DataObject) -> None:
    """Any places in any order, neighbours or not, are read as asked for."""
    places = data.draw(st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=12)) if rows else []
    picked = Picked(keep(rows), np.array(places, np.int64))
    assert list(picked) == [rows[place] for place in places]
    assert list(picked[1:3]) == list(picked)[1:3]
    assert len(picked) == len(places)
    if places:
        assert picked[-1] == rows[places[-1]]


@given(tables, tables)
def test_a_digest_is_equal_exactly_where_the_bytes_are(one: list[Record], other: list[Record]) -> None:
    """Rows that are spelled alike have one digest, wherever they stand; 5 and 5.0 have two."""
    digests = [tuple(digest) for digest in keep([*one, *other]).digests.tolist()]
    spelled = [repr(row) for row in (*one, *other)]
    assert len(set(zip(digests, spelled, strict=True))) == len(set(digests)) == len(set(spelled))


@pytest.mark.parametrize(
    "row",
    [{"a": float("nan")}, {"a": [float("inf"), None]}, {"a": 2**64}, {"a": "\ud800"}, {"a": {1, 2}}, {1: "a"}, ["a"]],
)
def test_what_would_not_come_back_is_refused(row: Any) -> None:
    """No value is kept as another one, as JSON would keep a NaN as null."""
    with pytest.raises(NotJson):
        keep([row])


def test_null_is_no_reason_to_refuse() -> None:
    """An empty field is kept, beside a number and a text that speaks of null."""
    assert list(keep([{"a": None, "b": 1.5, "c": "null"}])) == [{"a": None, "b": 1.5, "c": "null"}]


def test_a_small_table_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the bound on rows go to disk, those before it too."""
    monkeypatch.setattr(module, "ROWS_IN_MEMORY_MAX", 4)
    small: Sequence[Record] = kept_rows([[{"n": 1}, {"n": 2}], [{"n": 3}, {"n": 4}]])
    assert isinstance(small, list)
    large = kept_rows([[{"n": 1}, {"n": 2}], [{"n": 3}, {"n": 4}], [{"n": 5}], [{"n": 6}]])
    assert isinstance(large, StoredRows)
    assert [row["n"] for row in large] == [1, 2, 3, 4, 5, 6]


def test_a_table_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table without end is refused before it has filled the disk."""
    monkeypatch.setattr(module, "STORE_BYTES_MAX", 20)
    with pytest.raises(StoreFull, match="more than 20 bytes"):
        keep([{"text": "x" * 20}])


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """The file has no name while it is used, and is closed with the last one who reads it."""
    gc.collect()
    before = open_files()
    store = RowStore(tmp_path)
    store.extend([{"n": n} for n in range(10)])
    picked = Picked(store.finish(), np.arange(3))
    del store
    gc.collect()
    assert open_files() == before + 1
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - a plain look
    assert [row["n"] for row in picked] == [0, 1, 2]
    del picked
    gc.collect()
    assert open_files() == before
