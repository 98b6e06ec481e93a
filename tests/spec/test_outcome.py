"""Labels: the whole truth table, line by line."""

from __future__ import annotations

from itertools import product

import pytest

from spec.outcome import Label, Outcome, SwerVariant, classify
from spec.reading import TrueState

TABLE = {
    # (reported success, state, correct action available): (outcome, variant)
    (True, TrueState.CORRECT, True): (Outcome.SUCCESS, SwerVariant.NONE),
    (True, TrueState.CORRECT, False): (Outcome.SUCCESS, SwerVariant.NONE),
    (True, TrueState.WRONG_PERSISTED, True): (Outcome.SILENT_WRONG_EFFECT, SwerVariant.WRONG_WRITE),
    (True, TrueState.WRONG_PERSISTED, False): (Outcome.SILENT_WRONG_EFFECT, SwerVariant.WRONG_WRITE),
    (True, TrueState.ABSENT, True): (Outcome.SILENT_WRONG_EFFECT, SwerVariant.PHANTOM),
    (True, TrueState.ABSENT, False): (Outcome.SILENT_WRONG_EFFECT, SwerVariant.PHANTOM),
    (True, TrueState.UNREADABLE, True): None,
    (True, TrueState.UNREADABLE, False): None,
    (False, TrueState.CORRECT, True): (Outcome.FALSE_ABORT, SwerVariant.NONE),
    (False, TrueState.CORRECT, False): (Outcome.FALSE_ABORT, SwerVariant.NONE),
    (False, TrueState.WRONG_PERSISTED, True): (Outcome.WRONG_ACTION, SwerVariant.NONE),
    (False, TrueState.WRONG_PERSISTED, False): (Outcome.WRONG_ACTION, SwerVariant.NONE),
    (False, TrueState.ABSENT, True): (Outcome.OVER_HALT, SwerVariant.NONE),
    (False, TrueState.ABSENT, False): (Outcome.SAFE_HALT, SwerVariant.NONE),
    (False, TrueState.UNREADABLE, True): None,
    (False, TrueState.UNREADABLE, False): None,
}


@pytest.mark.parametrize(("reported", "state", "available"), list(product((True, False), TrueState, (True, False))))
def test_every_line_of_the_table(reported: bool, state: TrueState, available: bool) -> None:
    """``classify`` is total over its three closed inputs and gives the specified label for each."""
    expected = TABLE[reported, state, available]
    label = classify(reported_success=reported, state=state, correct_action_available=available)
    assert label == (None if expected is None else Label(*expected))


def test_the_table_uses_every_label() -> None:
    """No label or variant exists that no trial can get."""
    given = [label for label in TABLE.values() if label is not None]
    assert {outcome for outcome, _ in given} == set(Outcome)
    assert {variant for _, variant in given} == set(SwerVariant)
