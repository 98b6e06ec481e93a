"""The part of kind effect in the oracle: contracts are held here, judged here, and labelled here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from oracle.base import Judgement, Patience, ReadFailed, Subject
from oracle.effect.judge import EffectJudge, verdict_of
from spec.canonical import JsonObject
from spec.contract import contract_hash, unresolved
from spec.outcome import classify
from spec.reading import RecordSchema, Tables, TrueState
from spec.task import Task

REPORTED: Final = "reported_success"


class _Prepared:
    """What is known of a task before its first trial.

    Attributes:
        bodies: (state, reported success) -> the body of the judgement, but for what the trial adds to it.
        hash: the public hash of the first effect, or None where it depends on the trial's parameters.
    """

    __slots__ = ("bodies", "first", "hash", "judge", "patience")

    def __init__(self, task: Task, schema: RecordSchema) -> None:
        self.judge = EffectJudge(task.contract, schema)
        self.patience = Patience(max(effect.timeout_s for effect in task.contract), task.settle_s)
        self.first = task.contract[0]
        self.hash = None if unresolved([self.first], {}) else contract_hash(self.first)
        self.bodies = {(state, said): _body(task, state, said) for state in TrueState for said in (True, False)}


class EffectOracle:
    """Judges trials of kind effect (``oracle.base.OracleSide``).

    Args:
        tasks: task id -> task, with the contract as authored.
        schema: how the provider's rows are told apart.
    """

    reads_before: bool = True

    def __init__(self, tasks: Mapping[str, Task], schema: RecordSchema) -> None:
        self._prepared = {task_id: _Prepared(task, schema) for task_id, task in tasks.items()}

    def patience(self, task_id: str) -> Patience:
        """How long a live record of this task is waited for: its slowest effect, then the task's settling time."""
        return self._prepared[task_id].patience

    def judge(
        self, subject: Subject, report: JsonObject, before: Tables | None, after: Tables | ReadFailed
    ) -> Judgement:
        """Judge one trial.

        Args:
            subject: the trial.
            report: what the arm claims, as ``spec.report`` parsed it; only ``reported_success`` counts.
            before: the baseline, None where there is no readable one.
            after: the record after the arm, or why it could not be read.

        Returns:
            A judgement whose body has the keys state, verdict, kind, channel, observed_count, expected_count,
            before_reachable, expected_effect_hash, outcome, variant; empty where the record was unreadable.

        Raises:
            spec.contract.UnresolvedParam: the trial lacks a parameter; such a task is refused when the plan is made.
        """
        if isinstance(after, ReadFailed):
            return _unreadable(after.reason)
        prepared = self._prepared[subject.task_id]
        finding = prepared.judge.judge(subject.params, before, after)
        known = prepared.bodies[finding.state, report.get(REPORTED) is True]
        if known is None:
            return _unreadable(finding.reason)
        body = {
            **known,
            "channel": subject.channel,
            "observed_count": finding.observed_count,
            "expected_count": finding.expected_count,
            "expected_effect_hash": prepared.hash or contract_hash(prepared.first, subject.params),
        }
        return Judgement(True, finding.state is TrueState.CORRECT, finding.reason, body, finding.seen)


def _unreadable(reason: str) -> Judgement:
    return Judgement(readable=False, holds=False, reason=reason, body={})


def _body(task: Task, state: TrueState, reported_success: bool) -> JsonObject | None:
    """What the body says of a state, whoever the trial; None where there is no label."""
    label = classify(
        reported_success=reported_success, state=state, correct_action_available=task.correct_action_available
    )
    if label is None:
        return None
    return {
        "state": state.value,
        "verdict": verdict_of(state).value,
        "kind": task.contract[0].kind.value,
        "before_reachable": True,
        "outcome": label.outcome.value,
        "variant": label.variant.value,
    }
