"""The difference of a table: every record is created, changed, untouched or vanished, by content."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.effect.diff import FieldRules, Unclean, diff_table
from spec.canonical import Json
from spec.reading import Record
from spec.values import FieldType

RULES = FieldRules(("id",), frozenset({"id", "at"}), {"n": FieldType.INT})

values = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x", "1"])
rows = st.fixed_dictionaries({"f": values, "n": values})
identified = st.dictionaries(st.integers(1, 4), rows).map(
    lambda found: [{"id": key, **row} for key, row in found.items()]
)
nameless = st.lists(rows, max_size=4)


def names(records: Sequence[Record]) -> list[Json]:
    return [record.get("id") for record in records]


def test_records_are_sorted_by_what_became_of_them() -> None:
    """New, changed, untouched and gone, each exactly once."""
    before: list[Record] = [{"id": 1, "f": "a"}, {"id": 2, "f": "b"}, {"id": 3, "f": "c"}]
    after: list[Record] = [{"id": 2, "f": "B"}, {"id": 3, "f": "c"}, {"id": "new", "f": "d"}]
    diff = diff_table(before, after, RULES)
    assert names(diff.created) == ["new"]
    assert [(change.before["f"], change.after["f"], set(change.fields)) for change in diff.changed] == [
        ("b", "B", {"f"})
    ]
    assert names(diff.untouched) == [3]
    assert names(diff.vanished) == [1]


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"f": "é"}, {"f": "e\u0301"}, set()),
        ({"n": 5}, {"n": 5.0}, set()),
        ({"n": "5"}, {"n": 5}, set()),
        ({"f": "5"}, {"f": 5}, {"f"}),
        ({"f": True}, {"f": 1}, {"f"}),
        ({"f": None}, {}, set()),
        ({}, {"f": None}, set()),
        ({"f": ""}, {}, {"f"}),
        ({}, {"f": ""}, {"f"}),
        ({"f": float("nan")}, {"f": float("nan")}, set()),
        ({"n": "five"}, {"n": "five"}, set()),
        ({"n": "five"}, {"n": "six"}, {"n"}),
        ({"f": {"a": True}}, {"f": {"a": 1}}, {"f"}),
        ({"at": "1"}, {"at": "2"}, set()),
        ({"f": "a", "g": "a"}, {"f": "b", "g": "b"}, {"f", "g"}),
    ],
)
def test_content_is_compared_typed(before: Record, after: Record, changed: set[str]) -> None:
    """Another spelling of a value is no change; another value is, and bookkeeping never is."""
    diff = diff_table([{"id": 1, **before}], [{"id": 1, **after}], RULES)
    assert {name for change in diff.changed for name in change.fields} == changed
    assert len(diff.changed) + len(diff.untouched) == 1


def test_rows_without_an_id_are_told_apart_by_content() -> None:
    """As often as a content stood before it is untouched; one more is new, one fewer is gone."""
    before: list[Record] = [{"f": "a"}, {"f": "a"}, {"f": "b"}]
    after: list[Record] = [{"f": "a", "at": "now"}, {"f": "c", "g": None}, {"f": "c"}]
    diff = diff_table(before, after, RULES)
    assert [row["f"] for row in diff.untouched] == ["a"]
    assert [row["f"] for row in diff.created] == ["c", "c"]
    assert sorted(str(row["f"]) for row in diff.vanished) == ["a", "b"]


def test_rows_with_and_without_an_id_stand_side_by_side() -> None:
    """A row that has lost its id is another record."""
    diff = diff_table([{"id": 1, "f": "a"}, {"f": "b"}], [{"id": None, "f": "a"}, {"f": "b"}], RULES)
    assert (names(diff.created), names(diff.vanished)) == ([None], [1])
    assert diff.untouched == [{"f": "b"}]


def test_an_id_of_another_type_names_another_record() -> None:
    """1 and "1" are two ids."""
    diff = diff_table([{"id": 1}], [{"id": "1"}], RULES)
    assert (names(diff.created), names(diff.vanished)) == (["1"], [1])


def test_several_fields_together_name_a_record() -> None:
    """A table whose key has two parts: one part alone tells no rows apart, and a row that lacks one has no name."""
    rules = RULES._replace(keys=("place", "day"))
    before: list[Record] = [{"place": 1, "day": "a", "f": "x"}, {"place": 1, "day": "b", "f": "x"}]
    after: list[Record] = [
        {"place": 1, "day": "b", "f": "y"},
        {"place": 2, "day": "a", "f": "x"},
        {"place": 1, "f": "x"},
    ]
    diff = diff_table(before, after, rules)
    assert [(change.after["day"], set(change.fields)) for change in diff.changed] == [("b", {"f"})]
    assert diff.created == after[1:]
    assert diff.vanished == before[:1]
    with pytest.raises(Unclean, match=r"two rows have the id \(1, 'a'\)"):
        diff_table(before, [*before, before[0]], rules)


@given(identified | nameless, identified | nameless)
def test_no_record_is_lost_or_counted_twice(before: list[Record], after: list[Record]) -> None:
    """Each row before is changed, untouched or vanished, and each row after changed, untouched or created."""
    diff = diff_table(before, after, RULES)
    kept = len(diff.changed) + len(diff.untouched)
    assert kept + len(diff.vanished) == len(before)
    assert kept + len(diff.created) == len(after)


@given(identified | nameless, identified | nameless)
def test_time_reversed_created_and_vanished_change_places(before: list[Record], after: list[Record]) -> None:
    """The difference has no direction of its own."""
    there, back = diff_table(before, after, RULES), diff_table(after, before, RULES)
    assert len(there.created) == len(back.vanished)
    assert len(there.changed) == len(back.changed)


@given(identified | nameless)
def test_a_table_does_not_differ_from_itself(table: list[Record]) -> None:
    """Nothing happened, so nothing is seen."""
    diff = diff_table(table, table, RULES)
    assert (diff.created, diff.changed, diff.vanished) == ([], [], [])


@pytest.mark.parametrize("ident", [True, 1.5, [1], {"a": 1}])
def test_an_id_that_is_neither_text_nor_whole_number_is_unclean(ident: Json) -> None:
    """A record cannot be followed by such a name."""
    with pytest.raises(Unclean, match="neither a text nor a whole number"):
        diff_table([], [{"id": ident}], RULES)


def test_one_id_twice_in_a_reading_is_unclean() -> None:
    """Which of the two a change belongs to cannot be known."""
    with pytest.raises(Unclean, match="two rows have the id 'x'"):
        diff_table([], [{"id": "x"}, {"id": "x"}], RULES)
