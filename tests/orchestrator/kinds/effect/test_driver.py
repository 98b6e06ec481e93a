from __future__ import annotations

import dataclasses
import pickle
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from orchestrator.kinds.base import DriverSide
from spec.contract import Effect, EffectKind
from spec.task import task_digest
from spec.trial import Payload

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun


def test_it_is_a_driver_side(anchor: FinishedRun) -> None:
    """The class has what the engine asks of a kind."""
    side: DriverSide = anchor.driver
    assert side.label(anchor.row(0)) == "success"


def test_the_oracle_is_built_from_fields_that_can_be_sent(anchor: FinishedRun) -> None:
    """Tasks and schema survive pickling, since the oracle is built in another process."""
    fields = anchor.driver.oracle_fields()
    assert set(fields) == {"tasks", "schema"}
    assert pickle.loads(pickle.dumps(dict(fields))) == dict(fields)


def test_task_digests_stand_in_the_packs_order(anchor: FinishedRun) -> None:
    """Each task has its content digest, first task first."""
    assert list(anchor.driver.task_digests().items()) == [(task.task_id, task_digest(task)) for task in anchor.tasks]


def test_the_running_headline_is_that_of_the_summary(anchor: FinishedRun, tmp_path: Path) -> None:
    """Counts of labels alone give the four headline figures of the summary."""
    arms = anchor.summary(tmp_path)["arms"]
    for name, arm in arms.items():
        labels = Counter(anchor.driver.label(row) for row in anchor.rows() if row["arm"] == name)
        headline = anchor.driver.headline(labels)
        assert list(headline) == ["swer", "over_halt", "task_success", "screen_success"]
        assert headline == {figure: pytest.approx(arm[figure]["rate"]) for figure in headline}


def test_without_scored_trials_the_headline_is_unknown(anchor: FinishedRun) -> None:
    """Nothing scored gives null, never 0."""
    assert set(anchor.driver.headline({}).values()) == {None}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"settle_s": float("nan")}, "settle_s must be a finite number of seconds from 0, not nan"),
        ({"settle_s": -1.0}, "settle_s must be a finite number of seconds from 0, not -1.0"),
        (
            {"contract": (Effect(EffectKind.FIELD_EQUALS, {"type": "Triage"}, field="id", value="7"),)},
            "effect 1: field 'id' is the system's own bookkeeping",
        ),
    ],
)
def test_a_task_that_could_not_be_judged_is_refused(anchor: FinishedRun, changed: dict[str, Any], problem: str) -> None:
    """Its times are bounds, and its contract asks for nothing that may always change."""
    task = dataclasses.replace(anchor.tasks[0], **changed)
    assert anchor.driver.problems(task, Payload(0, {"note": "n", "record_key": "k"})) == [problem]
