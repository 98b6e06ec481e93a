from __future__ import annotations

from statistics import NormalDist

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, sqrt

from orchestrator.metrics.wilson import wilson

TOLERANCE = 1e-12


def high_precision(k: int, n: int) -> tuple[float, float]:
    """The textbook form, with 40 digits."""
    with mp.workdps(40):
        z = mpf(NormalDist().inv_cdf(0.975))
        p = mpf(k) / n
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return float(centre - half), float(centre + half)


@pytest.mark.parametrize(
    ("k", "n", "lo", "hi"),
    [
        (50, 90, 0.4527192645595967, 0.6538434437110336),
        (0, 90, 0.0, 0.04093562556432678),
    ],
)
def test_the_published_intervals_come_out(k: int, n: int, lo: float, hi: float) -> None:
    """The anchor's intervals are the published ones to the last digit."""
    assert wilson(k, n) == (lo, hi)


@settings(max_examples=400)
@given(st.integers(1, 1_000_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@example((1, 1_000_000))
@example((999_999, 1_000_000))
@example((0, 1))
@example((1, 1))
def test_it_agrees_with_a_high_precision_value(counts: tuple[int, int]) -> None:
    """Up to a million trials the ends are right to 1e-12, within [0, 1], and hold the rate between them."""
    k, n = counts
    lo, hi = wilson(k, n)
    assert (lo, hi) == pytest.approx(high_precision(k, n), abs=TOLERANCE, rel=0)
    assert 0.0 <= lo <= k / n <= hi <= 1.0


def test_the_ends_are_exact_where_nothing_and_where_everything_counted() -> None:
    """No success gives exactly 0 below, and no failure exactly 1 above."""
    assert all(wilson(0, n).lo == 0.0 and wilson(n, n).hi == 1.0 for n in range(1, 300))


@pytest.mark.parametrize(("k", "n"), [(0, 0), (1, 0), (-1, 5), (6, 5)])
def test_what_is_no_proportion_is_refused(k: int, n: int) -> None:
    """Counts that make no proportion raise instead of giving an interval."""
    with pytest.raises(ValueError, match="no interval"):
        wilson(k, n)
