from __future__ import annotations

from typing import Any, cast

import orjson
import pytest

from oracle.base import Judgement
from orchestrator.kinds.base import Execution
from orchestrator.kinds.effect.row import effect_digest_entry, effect_row
from orchestrator.kinds.effect.worker import EffectWorker
from spec.contract import Effect, EffectKind
from spec.report import AgentReport, ArmFault, ModelCall
from spec.row import parse_row
from spec.task import Category, OracleSpec, Task
from spec.trial import Trial

TASK = Task(
    task_id="pack::partial",
    title="",
    goal="Save.",
    category=Category.C1_PARTIAL_SAVE,
    contract=(Effect(EffectKind.RECORD_WRITTEN, {"id": 1}),),
    oracle=OracleSpec("snapshot"),
    correct_action_available=False,
)
TRIAL = Trial(7, "arm::pack::partial::t3", "pack::partial", "arm", 3, 42, {}, 2)
BODY = {
    "state": "wrong_persisted",
    "verdict": "refuted",
    "kind": "record_written",
    "channel": "snapshot",
    "observed_count": 1,
    "expected_count": 1,
    "before_reachable": True,
    "expected_effect_hash": "sha256:" + "0" * 64,
    "outcome": "silent_wrong_effect",
    "variant": "wrong_write",
}
HALTED = {**BODY, "outcome": "wrong_action", "variant": "none"}


def execution(fault: ArmFault | None = None) -> Execution:
    return Execution(2, "process", fault, "it hung" if fault else "", "2026-01-01T00:00:00Z", "later", 1.5, 3)


def row_of(report: AgentReport, body: dict[str, Any] = BODY, fault: ArmFault | None = None) -> dict[str, Any]:
    judgement = Judgement(True, False, "note is empty", body)
    return effect_row(TASK, TRIAL, EffectWorker().parse(report), judgement, execution(fault))


def test_a_row_passes_the_public_reader() -> None:
    """A row has exactly the public fields, and its own border model finds no contradiction in it."""
    row = row_of(AgentReport(True, message="Saved."))
    assert parse_row(orjson.dumps(row)).model_dump(mode="json") == row


def test_what_is_ours_stands_in_the_fingerprint() -> None:
    """Attempt, isolation, fault and number of reads stand in env_fingerprint."""
    row = row_of(AgentReport(False, halted=True), HALTED, ArmFault.TIMEOUT)
    assert row["env_fingerprint"] == {
        "attempt": 2,
        "isolation": "process",
        "arm_fault": "timeout",
        "fault_detail": "it hung",
        "reads": 3,
        "usage": [],
        "usage_unknown": ["model_calls"],
    }
    assert row["reason"].endswith("; arm fault timeout")


def test_an_arm_without_model_calls_costs_nothing_that_is_known() -> None:
    """A sound report without model calls has no usage and none that is unknown."""
    row = row_of(AgentReport(True))
    assert (row["model_calls"], row["cost_usd"]) == ([], 0.0)
    assert (row["env_fingerprint"]["usage"], row["env_fingerprint"]["usage_unknown"]) == ([], [])


def test_unknown_usage_is_zero_in_public_and_null_in_the_fingerprint() -> None:
    """Public call fields are never null; usage_unknown names those that had to be filled, usage keeps the nulls."""
    calls = [ModelCall("m", 10, 2, 5, 0.25, 1.0, "first"), ModelCall("m", 20, None, None, None, 2.0)]
    row = row_of(AgentReport(True, model_calls=calls))
    assert row["model_calls"] == [
        {
            "index": 0,
            "model": "m",
            "input_tokens": 10,
            "output_tokens": 2,
            "cost_usd": 0.25,
            "latency_s": 1.0,
            "note": "first",
        },
        {"index": 1, "model": "m", "input_tokens": 20, "output_tokens": 0, "cost_usd": 0, "latency_s": 2.0, "note": ""},
    ]
    assert row["cost_usd"] == 0.25
    assert row["env_fingerprint"]["usage_unknown"] == ["output_tokens", "cost_usd"]
    assert row["env_fingerprint"]["usage"][0]["cached_tokens"] == 5
    assert row["env_fingerprint"]["usage"][1]["output_tokens"] is None
    assert parse_row(orjson.dumps(row)).cost_usd == 0.25


def test_the_digest_entry_is_what_was_agreed() -> None:
    """The entry has the agreed fields, nested as in the row, and the arm's fault beside them."""
    assert effect_digest_entry(row_of(AgentReport(True, message="Saved."))) == {
        "episode_id": "arm::pack::partial::t3",
        "task_id": "pack::partial",
        "arm": "arm",
        "trial": 3,
        "seed": 42,
        "category": "C1_partial_save",
        "substrate": "web",
        "expected_effect_hash": "sha256:" + "0" * 64,
        "correct_action_available": False,
        "agent": {"reported_success": True, "halted": False},
        "oracle": {
            "verdict": "refuted",
            "observed_count": 1,
            "expected_count": 1,
            "effect_correct": False,
            "effect_wrong_persisted": True,
            "effect_absent": False,
        },
        "outcome": "silent_wrong_effect",
        "swer_variant": "wrong_write",
        "arm_fault": None,
    }
    assert effect_digest_entry(row_of(AgentReport(False), HALTED, ArmFault.EXITED))["arm_fault"] == "exited"


@pytest.mark.parametrize("volatile", ["attempt", "isolation", "times", "texts", "cost"])
def test_the_digest_entry_leaves_out_what_may_differ(volatile: str) -> None:
    """Two executions that differ in attempt, isolation, times, texts or cost have one digest entry."""
    first = row_of(AgentReport(True, message="Saved."))
    second = cast(dict[str, Any], orjson.loads(orjson.dumps(first)))
    match volatile:
        case "attempt" | "isolation":
            second["env_fingerprint"][volatile] = "other"
        case "times":
            second.update(started_at="", finished_at="", latency_s=9.0)
        case "texts":
            second["agent"]["message"] = second["oracle"]["reason"] = second["reason"] = "other"
        case _:
            second.update(cost_usd=9.0, model_calls=[1])
    assert second != first
    assert effect_digest_entry(second) == effect_digest_entry(first)
