from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import binomial, mp, mpf

from orchestrator.metrics.paired import PairedTask, compare_pairs, holm, mcnemar_exact, why_not_compared


@pytest.mark.parametrize(("only_a", "only_b"), list(product(range(6), repeat=2)))
def test_the_p_value_counts_every_way_the_coins_can_fall(only_a: int, only_b: int) -> None:
    """The two-sided p value is the share of coin sequences at least as lopsided as what was seen."""
    falls = [sum(coins) for coins in product((0, 1), repeat=only_a + only_b)]
    smaller = min(only_a, only_b)
    lopsided = sum(1 for heads in falls if heads <= smaller or heads >= only_a + only_b - smaller)
    assert mcnemar_exact(only_a, only_b) == pytest.approx(lopsided / len(falls))


@pytest.mark.parametrize(("only_a", "only_b"), [(500, 500), (450, 550), (450, 551), (4800, 5200), (0, 1001)])
def test_large_counts_give_the_exact_tail(only_a: int, only_b: int) -> None:
    """On both sides of the border between summing by hand and the library, the tail is that of 60 digits."""
    n = only_a + only_b
    with mp.workdps(60):
        tail = sum(binomial(n, k) for k in range(min(only_a, only_b) + 1)) / mpf(2) ** n
        exact = float(min(mpf(1), 2 * tail))
    assert mcnemar_exact(only_a, only_b) == pytest.approx(exact, rel=1e-9)


def test_holm_corrects_step_by_step() -> None:
    """The smallest p is multiplied by the number of tests, the next by one less, and the order is kept."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_p_value_smaller_nor_changes_the_order(p_values: list[float]) -> None:
    """Adjusted values are at least the raw ones, at most 1, and ranked alike."""
    adjusted = holm(p_values)
    assert all(raw <= new <= 1.0 for raw, new in zip(p_values, adjusted, strict=True))
    ranked = sorted(range(len(p_values)), key=lambda place: p_values[place])
    assert [adjusted[place] for place in ranked] == sorted(adjusted)


def test_a_comparison_needs_three_shared_trials_of_every_task() -> None:
    """One task with two shared trials stops the comparison, and the reason names it."""
    enough = {"a": PairedTask(3, 0, 0), "b": PairedTask(9, 1, 1)}
    assert why_not_compared(enough) is None
    reason = why_not_compared({**enough, "c": PairedTask(2, 0, 0)})
    assert reason == "a comparison needs 3 trials of every task that both arms have scored; c has 2"
    assert why_not_compared({}) == "no task was planned"


def test_the_difference_is_that_of_the_discordant_pairs() -> None:
    """Pairs on which both arms were right, or both wrong, cancel; the difference is over all shared trials."""
    found = compare_pairs({"a": PairedTask(10, 4, 1), "b": PairedTask(10, 1, 0)}, seed=0)
    assert found["n_pairs"] == 20
    assert found["discordant"] == {"only_first": 5, "only_second": 1}
    assert found["swer_difference"] == pytest.approx(0.2)
    assert (found["swer_difference_ci"]["lo"], found["swer_difference_ci"]["hi"]) == pytest.approx((0.1, 0.3))
    assert found["p_value"] == pytest.approx(2 * 7 / 64)
