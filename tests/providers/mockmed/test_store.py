"""The table of encounters: ids count up, rows and tables never change in place."""

from __future__ import annotations

import orjson
from hypothesis import given
from hypothesis import strategies as st

from providers.mockmed.store import SOURCE_OTHER, Encounter, Store, row

WRITES = st.lists(st.sampled_from(["add", "clear"]), max_size=20)


@given(writes=WRITES, seeded=st.integers(0, 3))
def test_ids_are_never_given_twice(writes: list[str], seeded: int) -> None:
    """Ids go on behind the seeded rows, and a cleared table does not start again."""
    encounter = Encounter("p1", "Triage", "n")
    store = Store(tuple(row(number + 1, encounter, SOURCE_OTHER) for number in range(seeded)))
    given_ids = list(range(1, seeded + 1))
    for write in writes:
        if write == "clear":
            store.clear()
            assert store.rows == ()
        else:
            store.add(encounter)
            given_ids.append(int(str(store.rows[-1]["id"])))
    assert given_ids == list(range(1, len(given_ids) + 1))


@given(writes=WRITES)
def test_a_table_that_is_held_does_not_change(writes: list[str]) -> None:
    """Whoever holds a table or a snapshot holds one moment of it."""
    store = Store()
    moments = []
    for write in writes:
        moments.append((store.rows, store.snapshot()))
        store.clear() if write == "clear" else store.add(Encounter("p1", "Triage", "n", "k"))
    for rows, snapshot in moments:
        assert orjson.loads(snapshot) == {"encounters": list(rows)}


def test_keys_are_found() -> None:
    """A key is known once a row bears it."""
    store = Store()
    assert not store.has_key("k")
    store.add(Encounter("p1", "Triage", "n", "k"))
    assert store.has_key("k")
    assert not store.has_key("other")
