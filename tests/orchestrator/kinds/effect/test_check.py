from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun


def test_every_row_of_a_sound_run_is_sound(anchor: FinishedRun) -> None:
    """No row that the driver's side makes is refused by its own check."""
    assert [problem for row in anchor.rows() for problem in anchor.driver.check_row(row)] == []


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("category", "control", "category is control, the task says C1_partial_save"),
        ("substrate", "desktop", "substrate is desktop, the task says web"),
        ("correct_action_available", True, "correct_action_available is True, the task says False"),
        ("outcome", "success", "does not follow"),
        ("task_id", "mockmed::other", "does not name"),
    ],
)
def test_a_forged_row_is_found(anchor: FinishedRun, name: str, value: object, says: str) -> None:
    """A row whose label does not follow, or that does not agree with its task, is named with the reason."""
    row: dict[str, Any] = orjson.loads(orjson.dumps(anchor.row(anchor.plan.index(1, 0, 0))))
    row[name] = value
    assert any(says in problem for problem in anchor.driver.check_row(row))


def test_a_task_outside_the_plan_is_found(anchor: FinishedRun) -> None:
    """A row that is sound by itself but of a task that is not planned is refused."""
    row = anchor.row(0) | {"task_id": "mockmed::other", "episode_id": "screen_only::mockmed::other::t0"}
    assert anchor.driver.check_row(row) == ["task_id 'mockmed::other' is not in the plan"]


def test_a_verdict_without_a_baseline_is_found(anchor: FinishedRun) -> None:
    """What was not readable before the arm has no verdict, so a row that says so is forged."""
    row: dict[str, Any] = orjson.loads(orjson.dumps(anchor.row(0)))
    row["oracle"]["before_reachable"] = False
    assert any("not read before the arm" in problem for problem in anchor.driver.check_row(row))
