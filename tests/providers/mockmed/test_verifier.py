"""The product's verifier reads back by itself and fails safe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from providers.mockmed.pack import PackName, pack_entries
from spec.reading import TrueState, Verdict

Finish = Callable[..., Any]
OpenSession = Callable[[str], Any]

TASKS = [entry.task for pack in PackName for entry in pack_entries(pack)]


@pytest.mark.parametrize("task_id", [task.task_id for task in TASKS if task.effect_declared])
def test_it_confirms_exactly_what_is_right(task_id: str, session: OpenSession, finish: Finish) -> None:
    """After a blind save it confirms where the record is right and refutes everywhere else."""
    opened = session(task_id)
    verifier = opened.fixture.environment.verifier
    finish(verifier.snapshot())
    opened.act()
    right = opened.state() is TrueState.CORRECT
    assert finish(verifier.verify()) is (Verdict.CONFIRMED if right else Verdict.REFUTED)


def test_without_a_snapshot_it_does_not_know(session: OpenSession, finish: Finish) -> None:
    """A verification that nothing was remembered for is indeterminate, never a confirmation."""
    opened = session("mockmed::ok")
    opened.act()
    assert finish(opened.fixture.environment.verifier.verify()) is Verdict.INDETERMINATE


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.task_id)
def test_there_is_none_where_the_effect_is_undeclared(task: Any, session: OpenSession) -> None:
    """The environment offers a verifier exactly where the task declares its effect."""
    offered = session(task.task_id).fixture.environment.verifier
    assert (offered is not None) is task.effect_declared
