"""The oracle's part of kind effect: a judgement has exactly what a row needs, and no more."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from oracle.base import OracleSide, Patience, ReadFailed, Subject
from oracle.effect import EffectOracle
from spec.canonical import JsonObject
from spec.contract import Effect, EffectKind, Param, UnresolvedParam, contract_hash, resolve
from spec.reading import RecordSchema, Tables
from spec.task import Category, OracleSpec, Task

MATCH = {"who": "p1"}
TASK = Task(
    task_id="t",
    title="",
    goal="",
    category=Category.CONTROL,
    contract=(
        Effect(EffectKind.RECORD_WRITTEN, MATCH, timeout_s=1.0),
        Effect(EffectKind.FIELD_EQUALS, MATCH, field="text", value=Param("text"), timeout_s=3.0),
    ),
    oracle=OracleSpec("snapshot"),
    correct_action_available=True,
    settle_s=0.5,
)
SCHEMA = RecordSchema("notes")
SUBJECT = Subject("arm::t::t0", "t", {"text": "hello"}, "fhir")
BEFORE: Tables = {"notes": []}
RIGHT: Tables = {"notes": [{"id": 1, "who": "p1", "text": "hello"}]}
DROPPED: Tables = {"notes": [{"id": 1, "who": "p1", "text": ""}]}
SAID: JsonObject = {"reported_success": True, "halted": False, "message": ""}


def oracle(task: Task = TASK) -> OracleSide:
    return EffectOracle({task.task_id: task}, SCHEMA)


def test_a_correct_trial_is_judged_in_full() -> None:
    """Every key of the body stands there with its plain value, and nothing is shown as different."""
    judgement = oracle().judge(SUBJECT, SAID, BEFORE, RIGHT)
    assert (judgement.readable, judgement.holds, judgement.seen) == (True, True, None)
    assert judgement.body == {
        "state": "correct",
        "verdict": "confirmed",
        "kind": "record_written",
        "channel": "fhir",
        "observed_count": 1,
        "expected_count": 1,
        "before_reachable": True,
        "expected_effect_hash": contract_hash(TASK.contract[0]),
        "outcome": "success",
        "variant": "none",
    }
    assert all(type(value) in (str, int, bool) for value in judgement.body.values())


def test_a_wrong_trial_says_what_was_seen() -> None:
    """The label follows from report and state; the difference comes along."""
    judgement = oracle().judge(SUBJECT, SAID, BEFORE, DROPPED)
    assert (judgement.readable, judgement.holds) == (True, False)
    assert judgement.body["outcome"] == "silent_wrong_effect"
    assert judgement.body["variant"] == "wrong_write"
    assert judgement.reason == "'text': '' is not 'hello'"
    assert judgement.seen == {
        "created": [{"table": "notes", "record": {"id": 1, "who": "p1", "text": ""}}],
        "changed": [],
        "vanished": [],
        "omitted": 0,
    }


@pytest.mark.parametrize(
    ("said", "after", "available", "outcome"),
    [
        (True, RIGHT, False, "success"),
        (False, RIGHT, True, "false_abort"),
        (False, DROPPED, True, "wrong_action"),
        (True, BEFORE, True, "silent_wrong_effect"),
        (False, BEFORE, True, "over_halt"),
        (False, BEFORE, False, "safe_halt"),
    ],
)
def test_the_label_takes_report_state_and_availability(
    said: bool, after: Tables, available: bool, outcome: str
) -> None:
    """The three inputs come from the arm, the record and the task."""
    task = dataclasses.replace(TASK, correct_action_available=available)
    assert oracle(task).judge(SUBJECT, {"reported_success": said}, BEFORE, after).body["outcome"] == outcome


@pytest.mark.parametrize("report", [{}, {"reported_success": 1}, {"reported_success": "true"}, {"success": True}])
def test_only_a_plain_true_is_a_claim_of_success(report: JsonObject) -> None:
    """Whatever else stands in a report does not turn a trial into a success."""
    assert oracle().judge(SUBJECT, report, BEFORE, RIGHT).body["outcome"] == "false_abort"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (None, RIGHT, "there is no readable baseline"),
        (BEFORE, ReadFailed("connection refused"), "connection refused"),
        (BEFORE, {}, "table 'notes' is missing after the arm"),
    ],
)
def test_what_cannot_be_read_is_never_a_verdict(before: Tables | None, after: Tables | ReadFailed, reason: str) -> None:
    """An unreadable record has a reason and no body, whatever the arm says."""
    judgement = oracle().judge(SUBJECT, SAID, before, after)
    assert (judgement.readable, judgement.holds, judgement.body, judgement.seen) == (False, False, {}, None)
    assert judgement.reason == reason


def test_the_hash_is_that_of_the_resolved_first_effect() -> None:
    """A parameter in the first effect gives each trial a hash of its own."""
    first = Effect(EffectKind.RECORD_WRITTEN, {**MATCH, "text": Param("text")})
    judgement = oracle(dataclasses.replace(TASK, contract=(first,))).judge(SUBJECT, SAID, BEFORE, RIGHT)
    assert judgement.body["expected_effect_hash"] == contract_hash(resolve([first], SUBJECT.params)[0])


def test_a_missing_parameter_is_an_error_and_no_judgement() -> None:
    """Such a task is refused when the plan is made; here nothing is guessed either, whatever was read."""
    for after in (RIGHT, BEFORE):
        with pytest.raises(UnresolvedParam):
            oracle().judge(SUBJECT._replace(params={}), SAID, BEFORE, after)


def test_patience_covers_the_slowest_effect() -> None:
    """A live record is waited for as long as any of the effects asks, and settles as the task says."""
    assert oracle().patience("t") == Patience(timeout_s=3.0, settle_s=0.5)
    assert oracle().reads_before


def test_it_can_be_sent_to_another_process() -> None:
    """An oracle is built from plain fields, and it survives being sent itself."""
    sent = pickle.loads(pickle.dumps(EffectOracle({"t": TASK}, SCHEMA)))
    assert sent.judge(SUBJECT, SAID, BEFORE, RIGHT) == oracle().judge(SUBJECT, SAID, BEFORE, RIGHT)
