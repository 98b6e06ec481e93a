"""The client's session: what it lists, how it bounds itself, what the scripted action saves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from providers.mockmed.client import DRAFTS_MAX, SAVES_MAX
from spec.environment import ToolError

OpenSession = Callable[[str], Any]


@pytest.mark.parametrize(
    ("task_id", "row"),
    [
        ("mockmed_ctl_clean_save", ("p1", "Triage")),
        ("mockmed_c6_homonym_wrong_patient", ("p2", "Triage")),
        ("mockmed_c7_wrong_target_type", ("p1", "Consult")),
        ("mockmed_ctl_refuse_ambiguous", ("p2", "Triage")),
        ("mockmed_c7_silent_noop", None),
    ],
)
def test_the_scripted_action_looks_at_nothing(task_id: str, row: tuple[str, str] | None, session: OpenSession) -> None:
    """A blind save goes to the first patient of the name, with the preset type, by the first control."""
    opened = session(task_id)
    seeded = len(opened.rows())
    assert opened.act().saved
    written = [(row["patient_id"], row["type"]) for row in opened.rows()[seeded:]]
    assert written == ([] if row is None else [row])


def test_homonyms_differ_by_birth_date(session: OpenSession) -> None:
    """The list shows one name twice; the look-up tells the two apart, and the goal names the one that is meant."""
    opened = session("mockmed_c6_homonym_wrong_patient")
    names = [patient["name"] for patient in opened.call("list_patients")]
    assert names.count("Mira Talvik") == 2
    found = opened.call("find_patients", name="mira")
    assert [patient["patient_id"] for patient in found] == ["p2", "p1"]
    assert [patient["birth_date"] in opened.goal for patient in found] == [False, True]


def test_ambiguous_charts_do_not_differ(session: OpenSession) -> None:
    """Nothing but the id tells the two charts of the refusal control apart, and the goal names no id."""
    opened = session("mockmed_ctl_refuse_ambiguous")
    one, other = (
        opened.call("read_chart", patient_id=patient["patient_id"])
        for patient in opened.call("find_patients", name="Mira Talvik")
    )
    assert one["patient"].pop("patient_id") != other["patient"].pop("patient_id")
    assert one == other


def test_a_concurrent_row_is_not_on_the_chart(session: OpenSession) -> None:
    """The row of another user came in after the client had loaded the chart."""
    opened = session("mockmed::stale")
    assert len(opened.rows()) == 1
    assert opened.call("read_chart", patient_id="p1")["encounters"] == []


def test_a_draft_is_edited_field_by_field(session: OpenSession) -> None:
    """An edit keeps what it does not name, and the preset type is that of the form."""
    opened = session("mockmed_c7_wrong_target_type")
    started = opened.call("start_encounter", patient_id="p1", note="first")
    assert started == {"encounter": "draft-1", "patient_id": "p1", "type": "Consult", "note": "first"}
    edited = opened.call("edit_encounter", encounter="draft-1", type="Triage")
    assert edited == {"encounter": "draft-1", "patient_id": "p1", "type": "Triage", "note": "first"}
    assert opened.call("read_screen")["drafts"] == [edited]
    assert opened.rows() == []


def test_the_session_is_bounded(session: OpenSession) -> None:
    """Drafts and saves have a limit each, and the record cannot be filled without end."""
    opened = session("mockmed::ok")
    for _ in range(DRAFTS_MAX):
        opened.call("start_encounter", patient_id="p1")
    with pytest.raises(ToolError, match=f"at most {DRAFTS_MAX} drafts"):
        opened.call("start_encounter", patient_id="p1")
    for _ in range(SAVES_MAX):
        opened.act()
    with pytest.raises(ToolError, match=f"at most {SAVES_MAX} saves"):
        opened.act()
    assert len(opened.rows()) == SAVES_MAX
