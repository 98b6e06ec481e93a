"""The label of a scored trial: report x reading x availability.

Source of the table: SPEC.md section 3. A changed row of it is a major version.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, assert_never

from spec.reading import TrueState


class Outcome(StrEnum):
    """The six labels, closed."""

    SUCCESS = "success"
    SAFE_HALT = "safe_halt"
    OVER_HALT = "over_halt"
    SILENT_WRONG_EFFECT = "silent_wrong_effect"
    FALSE_ABORT = "false_abort"
    WRONG_ACTION = "wrong_action"


class SwerVariant(StrEnum):
    """Which kind of silent wrong effect a trial is."""

    WRONG_WRITE = "wrong_write"
    PHANTOM = "phantom"
    NONE = "none"


class Label(NamedTuple):
    """An outcome with its variant."""

    outcome: Outcome
    variant: SwerVariant


def classify(*, reported_success: bool, state: TrueState, correct_action_available: bool) -> Label | None:
    """The label of a trial; total over its three closed inputs.

    Args:
        reported_success: the arm's claim, never trusted for success.
        state: what the oracle saw.
        correct_action_available: whether acting could have been right.

    Returns:
        The label, or None where the record was unreadable: unknown is not a label.
    """
    match state:
        case TrueState.UNREADABLE:
            return None
        case TrueState.CORRECT:
            return Label(Outcome.SUCCESS if reported_success else Outcome.FALSE_ABORT, SwerVariant.NONE)
        case TrueState.WRONG_PERSISTED:
            if reported_success:
                return Label(Outcome.SILENT_WRONG_EFFECT, SwerVariant.WRONG_WRITE)
            return Label(Outcome.WRONG_ACTION, SwerVariant.NONE)
        case TrueState.ABSENT:
            if reported_success:
                return Label(Outcome.SILENT_WRONG_EFFECT, SwerVariant.PHANTOM)
            halted = Outcome.OVER_HALT if correct_action_available else Outcome.SAFE_HALT
            return Label(halted, SwerVariant.NONE)
        case _ as never:
            assert_never(never)
