"""The difference as the journal keeps it: plain JSON, bounded, honest about what it leaves out."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from oracle.effect.diff import Change, TableDiff
from oracle.effect.seen import FIELDS_SHOWN_MAX, SEEN_BYTES_MAX, seen_json
from spec.canonical import canonical_json
from spec.reading import Record, RecordSchema

SCHEMA = RecordSchema("notes")

names = st.text(max_size=30)
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3000) | st.just("\ud800")
records = st.dictionaries(names, values | st.lists(values, max_size=2), max_size=12)


def diff(*, created: list[Record] | None = None, vanished: list[Record] | None = None) -> TableDiff:
    return TableDiff(created or [], [], [], vanished or [])


def test_a_small_difference_is_shown_as_it_is() -> None:
    """Records stand whole, changes with their two sides."""
    change = Change({"id": 1, "f": "a", "g": "x"}, {"id": 1, "f": "b", "g": "x"}, frozenset({"f"}))
    found = {"notes": TableDiff([{"id": 2, "f": "n"}], [change], [{"id": 9}], [{"id": 3}])}
    assert seen_json(found, SCHEMA) == {
        "created": [{"table": "notes", "record": {"id": 2, "f": "n"}}],
        "changed": [{"table": "notes", "id": 1, "before": {"f": "a"}, "after": {"f": "b"}}],
        "vanished": [{"table": "notes", "record": {"id": 3}}],
        "omitted": 0,
    }


def test_a_key_of_several_fields_is_shown_as_a_list() -> None:
    """Whoever looks for the record needs the whole of its name."""
    change = Change({"a": 1, "b": 2, "f": "x"}, {"a": 1, "b": 2, "f": "y"}, frozenset({"f"}))
    seen: Any = seen_json({"visits": TableDiff([], [change], [], [])}, SCHEMA._replace(keys={"visits": ("a", "b")}))
    assert seen["changed"] == [{"table": "visits", "id": [1, 2], "before": {"f": "x"}, "after": {"f": "y"}}]


def test_no_difference_is_shown_as_none() -> None:
    """An absent effect is an empty difference, which is worth writing down."""
    assert seen_json({"notes": diff()}, SCHEMA) == {"created": [], "changed": [], "vanished": [], "omitted": 0}


def test_a_long_text_is_cut_and_a_wide_record_narrowed() -> None:
    """One fat record leaves room for the rest."""
    fat: Record = {f"field {place:02}": "x" * 5000 for place in range(20)}
    seen: Any = seen_json({"notes": diff(created=[fat, {"id": 2}])}, SCHEMA)
    first, second = seen["created"]
    assert len(first["record"]) == FIELDS_SHOWN_MAX
    assert all(value.endswith("…") for value in first["record"].values())
    assert second["record"] == {"id": 2}


def test_what_does_not_fit_is_counted() -> None:
    """A thousand lost records are not a thousand lines, but their number is kept."""
    seen: Any = seen_json({"notes": diff(vanished=[{"id": ident} for ident in range(1000)])}, SCHEMA)
    assert seen["omitted"] > 0
    assert len(seen["vanished"]) + seen["omitted"] == 1000


def test_a_number_that_json_does_not_have_is_shown_as_text() -> None:
    """NaN and infinity are told as what they are, wherever in a record they stand; else the line would be refused."""
    row: Record = {"id": 1, "dose": float("nan"), "range": [0.5, float("inf")], "weight": 2.5}
    seen: Any = seen_json({"notes": diff(created=[row])}, SCHEMA)
    assert seen["created"] == [
        {"table": "notes", "record": {"id": 1, "dose": "nan", "range": "[0.5, inf]", "weight": 2.5}}
    ]


@given(st.lists(records, max_size=8), st.lists(records, max_size=8), st.text(max_size=200))
def test_it_is_json_within_its_bound_whatever_the_records_hold(
    created: list[Record], vanished: list[Record], table: str
) -> None:
    """Lone surrogates, huge numbers, long names: never an error, never more than the bound, nothing uncounted."""
    seen: Any = seen_json({table: diff(created=created, vanished=vanished)}, SCHEMA)
    written = canonical_json(seen)
    assert len(written) <= SEEN_BYTES_MAX
    assert orjson.loads(written).keys() == {"created", "changed", "vanished", "omitted"}
    assert len(seen["created"]) + len(seen["vanished"]) + seen["omitted"] == len(created) + len(vanished)
