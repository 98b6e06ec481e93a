"""Tables on disk differ exactly as the same rows in memory do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracle.effect.diff import FieldRules, Unclean, diff_table
from oracle.effect.stored import stored
from oracle.rows import StoredRows
from spec.reading import Record
from spec.values import FieldType, NotJson

RULES = FieldRules(("id",), frozenset({"id", "at"}), {"n": FieldType.DECIMAL})
TWO_KEYS = RULES._replace(keys=("id", "n"))

idents = st.none() | st.integers(0, 3) | st.sampled_from(["1", "a", 2**63, -(2**63), 1.5, True])
values: st.SearchStrategy[Any] = st.sampled_from([None, True, 5, 5.0, "5", "5.0", "é", "e\u0301", [1], [1.0], {"a": 1}])
rows = st.fixed_dictionaries({}, optional={"id": idents, "n": values, "f": values, "at": values})
tables = st.lists(rows, max_size=6)
nameless = st.lists(st.fixed_dictionaries({}, optional={"n": values, "at": values}), max_size=8)
distinct = st.dictionaries(st.integers(0, 5) | st.sampled_from(["0", "1"]), rows, max_size=6).map(
    lambda found: [{**row, "id": ident} for ident, row in found.items()]
)


def on_disk(table: Sequence[Record]) -> StoredRows:
    kept = stored(table)
    assert kept is not None
    return kept


def outcome(before: Sequence[Record], after: Sequence[Record], rules: FieldRules) -> Any:
    """The difference in lists, or what kind of reading this is instead."""
    try:
        diff = diff_table(before, after, rules)
    except (Unclean, NotJson) as error:
        return type(error)
    return [list(map(repr, part)) for part in diff]


@settings(max_examples=400)
@given(tables | distinct | nameless, tables | distinct | nameless, st.sampled_from([RULES, TWO_KEYS]))
@example([{"id": 1, "n": 5}], [{"id": 1, "n": 5.0}], RULES)
@example([{"n": 5, "at": 1}], [{"n": 5.0, "at": 2}, {"n": 5, "at": 1}], RULES)
@example([{"id": 1}, {"id": 1}], [{"id": 1}, {"id": 1}], RULES)
@example([{"id": 2**63}, {"id": 1}], [{"id": 1}, {"id": 2**63}], RULES)
def test_rows_on_disk_differ_as_rows_in_memory_do(before: list[Record], after: list[Record], rules: FieldRules) -> None:
    """Row by row, field by field and in the same order; and what is unclean in memory is unclean on disk."""
    expected = outcome(before, after, rules)
    assert outcome(on_disk(before), on_disk(after), rules) == expected
    assert outcome(before, on_disk(after), rules) == expected
    assert outcome(on_disk(before), after, rules) == expected


@given(distinct, st.randoms())
def test_the_order_on_disk_never_matters(table: list[Record], chance: Any) -> None:
    """A table that a store hands over in another order has not changed."""
    diff = diff_table(on_disk(table), on_disk(chance.sample(table, len(table))), RULES)
    assert (diff.created, diff.changed, len(diff.vanished)) == ([], [], 0)
    assert len(diff.untouched) == len(table)


def test_rows_that_cannot_stand_on_disk_are_compared_in_memory() -> None:
    """A baseline in memory with a number beyond 64 bits meets a large reading after it."""
    before: list[Record] = [{"id": 1, "n": 2**70}, {"id": 2, "n": 1}]
    diff = diff_table(before, on_disk([{"id": 2, "n": "1.0"}]), RULES)
    assert (list(diff.vanished), [row["id"] for row in diff.untouched]) == (before[:1], [2])


def test_only_what_differs_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the one pass over the names, untouched and vanished rows stay on the disk until they are asked for."""
    before = on_disk([{"id": n, "f": "x"} for n in range(100)])
    after = on_disk([{"id": n, "f": "y" if n == 7 else "x"} for n in range(50)])
    picked: list[int] = []
    pick = StoredRows.pick

    def counted(table: StoredRows, places: Any) -> Any:
        picked.append(len(places))
        return pick(table, places)

    monkeypatch.setattr(StoredRows, "pick", counted)
    diff = diff_table(before, after, RULES)
    assert sum(picked) == 2
    assert (len(diff.untouched), len(diff.vanished)) == (49, 50)
    assert [row["id"] for row in diff.vanished][:2] == [50, 51]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([{"id": 1}, {"id": "a"}, {"id": "a"}], "two rows have the id 'a'"),
        ([{"id": 1.5}], "an id is a float"),
    ],
)
def test_the_reason_names_the_row(table: list[Record], why: str) -> None:
    """A reading that cannot be judged says which id is to blame."""
    with pytest.raises(Unclean, match=why):
        diff_table(on_disk([]), on_disk(table), RULES)
