"""A fixture is a fresh record, and after the seal nothing of it can be reached."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from providers.mockmed import MockMed
from spec.environment import ToolError

Finish = Callable[..., Any]
OpenSession = Callable[[str], Any]


@pytest.mark.parametrize(
    ("task_id", "seeded"),
    [
        ("mockmed::ok", []),
        ("mockmed::stale", [("p1", "Urgent", "other", None)]),
        ("mockmed_c6_homonym_wrong_patient", [("p2", "Triage", "other", None)]),
    ],
)
def test_it_starts_as_the_task_says(task_id: str, seeded: list[object], session: OpenSession) -> None:
    """The record before the trial is the task's initial state, with ids from 1."""
    opened = session(task_id)
    rows = opened.rows()
    assert [(row["patient_id"], row["type"], row["source"], row["key"]) for row in rows] == seeded
    assert [row["id"] for row in rows] == list(range(1, len(seeded) + 1))
    assert rows == [dict(row) for row in opened.task.initial_state.get("encounters", ())]
    assert all(set(row) == {"id", "patient_id", "type", "note", "source", "key"} for row in rows)


def test_fixtures_share_nothing(finish: Finish) -> None:
    """What one trial writes is not seen by the next one."""
    provider = MockMed()
    task = provider.tasks()[0]
    first = finish(provider.open(task, provider.payload(task, 0, 0)))
    finish(first.environment.attempt_intended_action())
    second = finish(provider.open(task, provider.payload(task, 1, 0)))
    assert orjson.loads(second.snapshot()) == {"encounters": []}
    assert len(orjson.loads(first.snapshot())["encounters"]) == 1


def test_a_snapshot_is_frozen(session: OpenSession) -> None:
    """A snapshot that was taken before a write does not change with it."""
    opened = session("mockmed::ok")
    before = opened.fixture.snapshot()
    opened.act()
    assert before == b'{"encounters":[]}'
    assert opened.fixture.snapshot() != before


def test_after_the_seal_every_call_is_refused(session: OpenSession, finish: Finish) -> None:
    """Sealed: action, tools and verifier refuse, and the record stays readable as it was."""
    opened = session("mockmed::ok")
    environment = opened.fixture.environment
    verifier = environment.verifier
    opened.act()
    rows = opened.rows()
    opened.fixture.seal()
    for request in (
        environment.attempt_intended_action(),
        environment.call("read_screen", {}),
        environment.call("no such tool", {}),
        verifier.snapshot(),
        verifier.verify(),
    ):
        with pytest.raises(ToolError, match="sealed"):
            finish(request)
    assert opened.rows() == rows


def test_the_seal_lets_go_of_the_record(session: OpenSession) -> None:
    """Nothing that the sealed environment or its verifier refers to holds the rows any more."""
    opened = session("mockmed::ok")
    opened.act()
    opened.fixture.seal()
    held = gc.get_referents(opened.fixture.environment, opened.fixture.environment.verifier)
    assert opened.fixture._store not in held
    assert not any(type(thing).__name__ in {"Store", "Client"} for thing in held)


def test_closing_seals(session: OpenSession, finish: Finish) -> None:
    """A closed fixture refuses the arm's calls too."""
    opened = session("mockmed::ok")
    finish(opened.fixture.close())
    with pytest.raises(ToolError, match="sealed"):
        opened.act()
