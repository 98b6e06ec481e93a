"""Every fault writes exactly what its line of the table says, at every delivery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

OpenSession = Callable[[str], Any]

TABLE: dict[str, tuple[bool, list[tuple[str, str, bool, bool]]]] = {
    "ok": (True, [("p1", "Triage", True, False)]),
    "partial": (True, [("p1", "Triage", False, False)]),
    "duplicate": (True, [("p1", "Triage", True, False)] * 2),
    "timeout": (False, [("p1", "Triage", True, False)]),
    "optimistic": (True, []),
    "session": (False, []),
    "stale": (True, [("p1", "Triage", True, False)]),
    "double": (True, [("p1", "Triage", True, False)] * 2),
    "idempotent": (True, [("p1", "Triage", True, True)]),
}
AFTER_TWO_SAVES = {
    "ok": 2,
    "partial": 2,
    "duplicate": 4,
    "timeout": 2,
    "optimistic": 0,
    "session": 0,
    "stale": 1,
    "double": 4,
    "idempotent": 1,
}


@pytest.mark.parametrize("ending", TABLE)
def test_one_save(ending: str, session: OpenSession) -> None:
    """The banner and the rows of one blind save are those of the table; the key is sent by one task only."""
    opened = session(f"mockmed::{ending}")
    saved, rows = TABLE[ending]
    assert opened.act().saved is saved
    note, key = opened.note, opened.payload.params["record_key"]
    found = opened.rows()
    assert [(r["patient_id"], r["type"], r["note"] == note, r["key"] == key) for r in found] == rows
    assert all(row["note"] in (note, "") and row["key"] in (key, None) for row in found)
    assert all(row["source"] == "client" for row in found)


@pytest.mark.parametrize("ending", AFTER_TWO_SAVES)
def test_every_save_meets_the_same_fault(ending: str, session: OpenSession) -> None:
    """A repeated save repeats banner and fault."""
    opened = session(f"mockmed::{ending}")
    assert opened.act() == opened.act()
    assert len(opened.rows()) == AFTER_TWO_SAVES[ending]


def test_last_write_wins_loses_the_concurrent_row(session: OpenSession) -> None:
    """The overwriting save removes the other user's row, and the new row does not take over its id."""
    opened = session("mockmed::stale")
    (concurrent,) = opened.rows()
    opened.act()
    (ours,) = opened.rows()
    assert concurrent["source"] == "other"
    assert (concurrent["id"], ours["id"]) == (1, 2)


@pytest.mark.parametrize("patient_id", ["p1", "p2"])
def test_confused_charts_always_land_on_the_wrong_one(patient_id: str, session: OpenSession) -> None:
    """In the refusal control a save lands on p2, whichever of the two charts was opened."""
    opened = session("mockmed_ctl_refuse_ambiguous")
    draft = opened.call("start_encounter", patient_id=patient_id, note=opened.note)["encounter"]
    opened.call("save_encounter", encounter=draft)
    assert [row["patient_id"] for row in opened.rows()] == ["p2"]
