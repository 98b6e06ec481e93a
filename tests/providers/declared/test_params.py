"""The values of a trial follow from its seed alone, and stay within what is written."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from providers.declared.params import draw, parse_param, trial_seed

seeds = st.integers(0, 2**63 - 1)


@given(seeds, st.integers(-(10**12), 10**12), st.integers(0, 10**6))
def test_a_drawn_number_lies_between_its_ends(seed: int, low: int, width: int) -> None:
    """Both ends included, and the same for the same seed."""
    params = {"n": parse_param({"int": [low, low + width]})}
    found = draw(params, seed)
    assert low <= found["n"] <= low + width  # type: ignore[operator]  # an int, as the comparison shows
    assert draw(params, seed) == found


@given(seeds)
def test_dates_decimals_and_choices_keep_their_form(seed: int) -> None:
    """A date is a date of the range, a decimal has the digits of its ends, a choice is one of the list."""
    written = {
        "due": {"date": ["2026-01-30", "2026-03-01"]},
        "amount": {"decimal": ["0.50", "12.00"]},
        "kind": {"choice": ["a", 2, None]},
    }
    found: Any = draw({name: parse_param(value) for name, value in written.items()}, seed)
    assert date(2026, 1, 30) <= date.fromisoformat(found["due"]) <= date(2026, 3, 1)
    assert Decimal("0.50") <= Decimal(found["amount"]) <= Decimal("12.00")
    assert len(found["amount"].partition(".")[2]) == 2
    assert found["kind"] in ("a", 2, None)


def test_a_unique_text_is_one_for_the_trial_and_no_other_has_it() -> None:
    """All texts of a trial share it, and ten thousand trials have ten thousand."""
    params = {"path": parse_param({"text": "in/{unique}.txt"}), "body": parse_param({"text": "no. {unique} {{x}}"})}
    found: Any = [draw(params, trial_seed(0, "t", trial)) for trial in range(10_000)]
    assert len({one["path"] for one in found}) == 10_000
    assert all(one["body"] == f"no. {one['path'][3:-4]} {{x}}" for one in found)
    assert params["path"].is_unique


def test_a_seed_belongs_to_run_task_and_trial() -> None:
    """Any of the three changes it."""
    known = {trial_seed(*parts) for parts in [(0, "a", 0), (1, "a", 0), (0, "b", 0), (0, "a", 1)]}
    assert len(known) == 4


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"int": [9, 1]}, "smaller end"),
        ({"int": ["1", 2]}, "two whole numbers"),
        ({"int": [True, 2]}, "two whole numbers"),
        ({"date": ["2026-02-30", "2026-03-01"]}, "YYYY-MM-DD"),
        ({"decimal": ["NaN", "1"]}, "at most 40 digits"),
        ({"decimal": ["1e999999", "1e9999999"]}, "at most 40 digits"),
        ({"choice": []}, "list of 1"),
        ({"choice": [date(2026, 1, 1)]}, "date"),
        ({"text": "{other}"}, "knows only the place"),
        ({"text": "{"}, "no template"),
        ({"integer": [1, 2]}, "unknown key"),
        ({}, "one of the keys"),
        (date(2026, 1, 1), "cannot be a parameter"),
    ],
)
def test_what_is_no_parameter_is_refused(written: object, words: str) -> None:
    """Each with its reason."""
    with pytest.raises(PydanticCustomError, match=words):
        parse_param(written)
