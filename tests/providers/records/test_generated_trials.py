"""Generated tasks with the real service and the oracle's own reading: every label is what the fault deserves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import orchestrator
from orchestrator.audit import AttackName, Result
from orchestrator.audit.attacks import positive_control
from orchestrator.audit.team import red_team
from orchestrator.config import config_from_mapping
from orchestrator.preparation import prepare
from providers.records import Records
from providers.records.draws import Draws
from providers.records.faults import FAULTS
from providers.records.generator import kind_of
from spec.reading import TrueState
from spec.task import Task

SEED = 5
COUNT = 300
SAMPLE = 40
ARMS = ("screen_only", "effect_verified")


def sample(size: int) -> dict[str, int]:
    """Task id -> number of so many tasks, drawn by a seed: one of every kind first."""
    order = Draws("sample").shuffled(range(COUNT))
    firsts = {kind_of(SEED, index): index for index in order}.values()
    chosen = [*firsts, *(index for index in order if index not in firsts)][:size]
    ids = [task.task_id for task in Records("generated", "all", OPTIONS).tasks()]
    return {ids[index]: index for index in chosen}


OPTIONS: dict[str, object] = {"count": COUNT, "seed": SEED}


def config(tasks: list[str], read: str) -> dict[str, Any]:
    return {
        "run": {"trials": 1},
        "engine": {"kind": "inline"},
        "provider": {
            "use": "providers.records:Records",
            "pack": "generated",
            "split": "all",
            "tasks": tasks,
            "options": {**OPTIONS, "read": read},
        },
        "arms": [{"name": name} for name in ARMS],
    }


def deserved(index: int, task: Task, arm: str) -> tuple[str, str]:
    """The label of a scripted arm, from the kind's line and its fault alone."""
    kind = kind_of(SEED, index)
    fault = FAULTS[kind.fault]
    if arm == "screen_only":
        reported = fault.paints
    else:
        seen = TrueState.ABSENT if fault.late else TrueState.CORRECT if fault.afterwards else kind.leaves
        reported = task.effect_declared and seen is TrueState.CORRECT
    if kind.leaves is TrueState.CORRECT:
        return ("success" if reported else "false_abort"), "none"
    if reported:
        return "silent_wrong_effect", "phantom" if kind.leaves is TrueState.ABSENT else "wrong_write"
    if kind.leaves is TrueState.WRONG_PERSISTED:
        return "wrong_action", "none"
    return ("over_halt" if task.correct_action_available else "safe_halt"), "none"


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("read", "size"), [("sql", SAMPLE), ("rest", 10), ("fhir", 10)])
def test_every_label_follows_from_the_fault(tmp_path: Path, read: str, size: int) -> None:
    """A sample that has every fault, by both arms: each outcome is what the table of kinds and faults says."""
    chosen = sample(size)
    tasks = {task.task_id: task for task in Records("generated", "all", OPTIONS).tasks()}
    rows = list(orchestrator.run(config(list(chosen), read), run_dir=tmp_path / "run"))
    found = {(row["task_id"], row["arm"]): (row["outcome"], row["swer_variant"]) for row in rows}
    assert found == {
        (task_id, arm): deserved(index, tasks[task_id], arm) for task_id, index in chosen.items() for arm in ARMS
    }
    if size == SAMPLE:
        assert {kind_of(SEED, index).fault for index in chosen.values()} == set(FAULTS)
        assert {tasks[task_id].effect_declared for task_id in chosen} == {True, False}


@pytest.mark.timeout(180)
def test_the_right_effect_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sample with every kind the audit's positive control passes: the oracle can be satisfied."""
    monkeypatch.setattr("orchestrator.audit.team.derive", lambda scene: list(positive_control(scene)))
    audits = red_team(prepare(config_from_mapping(config(list(sample(SAMPLE)), "sql"), ".", environ={})))
    assert len(audits) == SAMPLE
    for audit in audits:
        controls = [one for one in audit.verdicts if one.attack is AttackName.POSITIVE_CONTROL]
        assert [one.result for one in controls] == [Result.CONFIRMED], controls
