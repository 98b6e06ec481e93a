from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from orchestrator.metrics.bootstrap import clustered_mean_interval, gap_interval


def binomial_quantile(trials: int, hits: int, level: float) -> int:
    """The quantile of a binomial, summed exactly."""
    share, reached = Fraction(hits, trials), Fraction(0)
    for k in range(trials + 1):
        reached += comb(trials, k) * share**k * (1 - share) ** (trials - k)
        if reached >= Fraction(level):
            return k
    return trials


def test_the_gap_interval_is_that_of_its_exact_distribution() -> None:
    """The resampled gap is a binomial share; the interval's ends are within one trial of its exact quantiles."""
    found = gap_interval(successes=20, reported_wrongly=50, trials=90, seed=7)
    assert found is not None
    assert found["lo"] * 90 == pytest.approx(binomial_quantile(90, 50, 0.025), abs=1)
    assert found["hi"] * 90 == pytest.approx(binomial_quantile(90, 50, 0.975), abs=1)


def test_an_arm_that_never_lies_has_no_gap() -> None:
    """Without a wrong report every resample has gap 0."""
    found = gap_interval(successes=30, reported_wrongly=0, trials=90, seed=0)
    assert found is not None
    assert (found["lo"], found["hi"]) == (0.0, 0.0)


def test_the_same_seed_gives_the_same_interval_and_a_negative_seed_is_one() -> None:
    """Intervals are a function of counts and seed."""
    calls = [gap_interval(successes=3, reported_wrongly=5, trials=20, seed=seed) for seed in (-1, -1, 1)]
    assert calls[0] == calls[1]
    assert calls[0] is not None


def test_without_observations_there_is_no_interval() -> None:
    """No trials, or no clusters, give None."""
    assert gap_interval(successes=0, reported_wrongly=0, trials=0, seed=0) is None
    assert clustered_mean_interval([], [], 0) is None


def test_equal_clusters_leave_no_doubt() -> None:
    """If every task shows the same mean, resampling tasks gives just that mean, whatever their sizes."""
    found = clustered_mean_interval([2, 4, 6], [4, 8, 12], seed=3)
    assert found is not None
    assert (found["lo"], found["hi"]) == (0.5, 0.5)


def test_clusters_are_resampled_as_wholes() -> None:
    """Two tasks, one all wrong and one all right, leave everything open, however many trials they have."""
    found = clustered_mean_interval([1000, 0], [1000, 1000], seed=3)
    assert found is not None
    assert (found["lo"], found["hi"]) == (0.0, 1.0)


def test_many_clusters_are_drawn_in_blocks() -> None:
    """With more tasks than a block holds for all draws at once, the interval is still around the mean."""
    found = clustered_mean_interval([1, 0] * 400, [1] * 800, seed=1)
    assert found is not None
    assert found["lo"] == pytest.approx(0.5 - 1.96 * 0.5 / 800**0.5, abs=0.005)
    assert found["hi"] == pytest.approx(0.5 + 1.96 * 0.5 / 800**0.5, abs=0.005)
