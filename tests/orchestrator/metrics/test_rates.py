from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.metrics.rates import rate


def test_a_rate_carries_counts_interval_and_bounds() -> None:
    """The rate object has exactly the public fields, and bounds over the planned trials."""
    assert rate(1, 2, 4) == {
        "numerator": 1,
        "denominator": 2,
        "rate": 0.5,
        "ci": {
            "lo": pytest.approx(0.0945, abs=1e-4),
            "hi": pytest.approx(0.9055, abs=1e-4),
            "method": "wilson",
            "confidence": 0.95,
        },
        "bounds": {"lo": 0.25, "hi": 0.75},
    }


def test_without_a_scored_trial_there_is_no_rate() -> None:
    """An empty denominator gives null for rate and interval, and bounds that say that anything is possible."""
    found = rate(0, 0, 3)
    assert (found["rate"], found["ci"], found["bounds"]) == (None, None, {"lo": 0.0, "hi": 1.0})
    assert rate(0, 0, 0)["bounds"] == {"lo": None, "hi": None}


@given(st.lists(st.integers(0, 1000), min_size=3, max_size=3).map(sorted))
def test_the_bounds_hold_whatever_the_unscored_trials_were(counts: list[int]) -> None:
    """For every way in which the unscored trials could have gone, the rate over all planned is within the bounds."""
    numerator, scored, planned = counts
    if not planned:
        return
    bounds = rate(numerator, scored, planned)["bounds"]
    for counted in {0, (planned - scored) // 2, planned - scored}:
        assert bounds["lo"] <= (numerator + counted) / planned <= bounds["hi"]


@pytest.mark.parametrize("counts", [(3, 2, 4), (1, 5, 4), (-1, 2, 2)])
def test_counts_out_of_order_are_refused(counts: tuple[int, int, int]) -> None:
    """More hits than scored trials, or more scored than planned, raise."""
    with pytest.raises(ValueError, match="no rate"):
        rate(*counts)
