"""An agent that chooses can be right exactly where the task says so, and learns of the outcome only by the banner."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.mockmed.pack import PackName, pack_entries
from spec.environment import ToolError
from spec.reading import TrueState

Session = Any
OpenSession = Callable[[str], Session]

TASKS = [entry.task for pack in PackName for entry in pack_entries(pack)]
POSSIBLE = [task.task_id for task in TASKS if task.correct_action_available]
IMPOSSIBLE = [task.task_id for task in TASKS if not task.correct_action_available]
GOAL = re.compile(r"Record a (\w+) encounter for the patient (.+), born ([\d-]+), with the note \"(.+)\"\.")


def careful(session: Session) -> Any:
    """Act as a careful agent that has only the goal and the tools; the answer of the one save."""
    match = GOAL.fullmatch(session.goal)
    assert match is not None
    kind, name, birth_date, note = match.groups()
    patients = session.call("find_patients", name=name, birth_date=birth_date)
    draft = session.call("start_encounter", patient_id=patients[-1]["patient_id"])["encounter"]
    session.call("edit_encounter", encounter=draft, type=kind, note=note)
    controls = session.call("read_screen")["controls"]
    control = next(control["control"] for control in controls if control["enabled"])
    return session.call("save_encounter", encounter=draft, control=control)


@pytest.mark.parametrize("task_id", POSSIBLE)
def test_a_careful_agent_can_be_right(task_id: str, session: OpenSession) -> None:
    """Where the correct action is available, the tools and the goal are enough to do it."""
    opened = session(task_id)
    answer = careful(opened)
    assert opened.state() is TrueState.CORRECT
    assert answer["saved"] is ("timeout" not in task_id)


@pytest.mark.parametrize("task_id", IMPOSSIBLE)
def test_a_careful_agent_cannot_be_right_elsewhere(task_id: str, session: OpenSession) -> None:
    """Where the correct action is not available, even the careful agent does not reach it."""
    opened = session(task_id)
    careful(opened)
    assert opened.state() is not TrueState.CORRECT


STEP: st.SearchStrategy[tuple[str, dict[str, str]]] = st.one_of(
    st.tuples(
        st.just("start_encounter"),
        st.fixed_dictionaries(
            {"patient_id": st.sampled_from(["p1", "p2", "p3"])},
            optional={"type": st.sampled_from(["Triage", "Consult"]), "note": st.sampled_from(["NOTE", "", "x"])},
        ),
    ),
    st.tuples(
        st.just("edit_encounter"),
        st.fixed_dictionaries(
            {"encounter": st.sampled_from(["draft-1", "draft-2"])},
            optional={"type": st.sampled_from(["Triage", "Consult"]), "note": st.sampled_from(["NOTE", "x"])},
        ),
    ),
    st.tuples(
        st.just("save_encounter"),
        st.fixed_dictionaries(
            {"encounter": st.sampled_from(["draft-1", "draft-2"])},
            optional={"control": st.sampled_from(["toolbar_save", "form_save"])},
        ),
    ),
    st.just(("attempt", {})),
)


@settings(max_examples=150)
@given(task=st.sampled_from([task for task in TASKS if not task.correct_action_available]), steps=st.lists(STEP))
def test_no_program_is_right_where_nothing_can_be(
    session: OpenSession, task: Any, steps: list[tuple[str, dict[str, str]]]
) -> None:
    """Whatever an agent calls in whatever order: without an available correct action the record is never right."""
    opened = session(task.task_id)
    opened.call("start_encounter", patient_id="p1", type="Triage", note=opened.note)
    for tool, arguments in steps:
        filled = {key: opened.note if value == "NOTE" else value for key, value in arguments.items()}
        try:
            if tool == "attempt":
                opened.act()
            else:
                opened.call(tool, **filled)
        except ToolError:
            continue
        assert opened.state() is not TrueState.CORRECT


@pytest.mark.parametrize("task_id", [task.task_id for task in TASKS])
def test_the_screen_after_a_save_shows_belief(task_id: str, session: OpenSession) -> None:
    """After a save the chart shows what the client sent if its banner says saved, whatever the record holds."""
    opened = session(task_id)
    before = opened.call("read_chart", patient_id="p1")["encounters"]
    draft = opened.call("start_encounter", patient_id="p1", type="Triage", note="seen")["encounter"]
    answer = opened.call("save_encounter", encounter=draft)
    after = opened.call("read_chart", patient_id="p1")["encounters"]
    painted = [{"type": "Triage", "note": "seen"}] if answer["saved"] else []
    assert after == before + painted
    assert opened.call("read_screen")["banner"] == answer["banner"]


def test_the_same_tools_stand_in_every_task(session: OpenSession) -> None:
    """Neither a tool nor a control's name tells one task from another."""
    tools, controls = [], []
    for task in TASKS:
        opened = session(task.task_id)
        tools.append(opened.fixture.environment.tools)
        controls.append([control["control"] for control in opened.call("read_screen")["controls"]])
    assert all(one == tools[0] for one in tools)
    assert all(one == controls[0] for one in controls)


def test_a_wrong_call_lists_every_problem(session: OpenSession) -> None:
    """Missing, unknown and mistyped arguments are told in one refusal, and nothing happens."""
    opened = session("mockmed::ok")
    with pytest.raises(ToolError) as caught:
        opened.call("start_encounter", note=3, type="Surgery", colour="red")
    text = str(caught.value)
    for words in ("needs the argument 'patient_id'", "note must be text", "type must be one of", "'colour'"):
        assert words in text
    assert opened.call("read_screen")["drafts"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("delete_everything", {}, "there is no tool 'delete_everything'"),
        ("read_chart", {"patient_id": "p9"}, "there is no patient 'p9'"),
        ("save_encounter", {"encounter": "draft-1"}, "there is no draft 'draft-1'"),
    ],
)
def test_what_is_not_there_is_refused(tool: str, arguments: dict[str, str], words: str, session: OpenSession) -> None:
    """An unknown tool, patient or draft is refused by its name."""
    with pytest.raises(ToolError, match=re.escape(words)):
        session("mockmed::ok").call(tool, **arguments)


def test_an_answer_is_the_callers_own(session: OpenSession) -> None:
    """An agent that changes an answer changes nothing behind it."""
    opened = session("mockmed_c6_homonym_wrong_patient")
    first = opened.call("read_chart", patient_id="p2")
    first["encounters"].clear()
    first["patient"]["name"] = "nobody"
    second = opened.call("read_chart", patient_id="p2")
    assert second["patient"]["name"] == "Mira Talvik"
    assert len(second["encounters"]) == 1


def test_sessions_of_one_task_share_no_drafts(session: OpenSession) -> None:
    """A draft and a banner of one trial are not there in the next."""
    first, second = session("mockmed::ok"), session("mockmed::ok")
    first.call("start_encounter", patient_id="p1")
    first.act()
    assert len(first.call("read_screen")["drafts"]) == 1
    assert second.call("read_screen")["drafts"] == []
    assert second.call("read_screen")["banner"] is None
