"""What came of the attacks on a task, and when a task has passed (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from orchestrator.audit.scene import AttackName


class Result(StrEnum):
    """What came of one attack."""

    CAUGHT = "caught"
    CONFIRMED = "confirmed"
    GOT_THROUGH = "got_through"
    NOT_CONFIRMED = "not_confirmed"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    REFUSED = "refused"
    NOT_APPLICABLE = "not_applicable"


MEANINGS: Final = {
    Result.CAUGHT: "the oracle did not say CORRECT",
    Result.CONFIRMED: "of the positive control: the oracle said CORRECT",
    Result.GOT_THROUGH: "the oracle said CORRECT",
    Result.NOT_CONFIRMED: "of the positive control: the oracle did not say CORRECT",
    Result.UNREADABLE: "the record could not be read",
    Result.FAILED: "the attack could not be carried out",
    Result.REFUSED: "the record system itself refuses the write",
    Result.NOT_APPLICABLE: "the attack means nothing for the task",
}

LOST: Final = frozenset({Result.GOT_THROUGH, Result.NOT_CONFIRMED, Result.UNREADABLE, Result.FAILED})
"""With one of these a task has not passed."""


class Verdict(NamedTuple):
    """What came of one attack.

    Attributes:
        attack: which.
        target: the field or table that it aimed at, "" where there is only one.
        result: what came of it.
        reason: why, for people; it can hold values of a trial.
    """

    attack: AttackName
    target: str
    result: Result
    reason: str = ""

    @property
    def name(self) -> str:
        """``attack`` or ``attack:target``."""
        return f"{self.attack.value}:{self.target}" if self.target else self.attack.value


class TaskAudit(NamedTuple):
    """What came of all attacks on one task."""

    task_id: str
    verdicts: Sequence[Verdict]

    @property
    def passed(self) -> bool:
        """Whether no attack got through, all were judged, and the right effect was recognised; see ``has_passed``."""
        return has_passed([(verdict.attack, verdict.result) for verdict in self.verdicts])

    @property
    def lost(self) -> list[Verdict]:
        """The attacks for which it has not passed."""
        return [verdict for verdict in self.verdicts if verdict.result in LOST]


def has_passed(results: Sequence[tuple[AttackName, Result]]) -> bool:
    """Whether a task with these results has passed.

    The positive control was confirmed, every strategy was looked at, none was lost, and at least one attack that writes
    something wrong was really carried out: a record system that refuses everything proves nothing about its oracle.
    """
    control = (AttackName.POSITIVE_CONTROL, Result.CONFIRMED) in results
    complete = {attack for attack, _ in results} == set(AttackName)
    writes = {attack for attack, result in results if result is Result.CAUGHT} - {AttackName.PHANTOM, AttackName.REACH}
    return control and complete and bool(writes) and not any(result in LOST for _, result in results)
