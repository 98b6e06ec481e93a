"""Permits are dealt out and split by laws that hold for every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.permits import share, split

totals = st.integers(0, 5000)
demands = st.lists(st.integers(0, 2000), max_size=12)
weights = st.lists(st.integers(0, 500), min_size=1, max_size=12)


@given(totals, demands)
def test_everything_that_can_be_used_is_shared_out(total: int, demands: list[int]) -> None:
    """The shares sum to the total, or to all demands where these are less."""
    assert sum(share(total, demands)) == min(total, sum(demands))


@given(totals, demands)
def test_nobody_gets_more_than_it_asks_for(total: int, demands: list[int]) -> None:
    """A share is between nothing and its demand."""
    assert all(0 <= given <= demand for given, demand in zip(share(total, demands), demands, strict=True))


@given(totals, demands)
def test_those_who_are_left_wanting_get_the_same(total: int, demands: list[int]) -> None:
    """Whoever gets less than it asks for is within one of every other such, and nobody has more than one above it."""
    given_out = share(total, demands)
    wanting = [given for given, demand in zip(given_out, demands, strict=True) if given < demand]
    assert all(max(given_out) - given <= 1 for given in wanting)


@given(totals, weights, st.integers(0, 20))
def test_a_split_loses_and_invents_nothing(total: int, weights: list[int], first: int) -> None:
    """The parts sum to the total, none is negative, and each is within one of its exact proportion."""
    parts = split(total, weights, first)
    assert sum(parts) == total
    even = weights if any(weights) else [1] * len(weights)
    for part, weight in zip(parts, even, strict=True):
        assert part >= 0
        assert abs(part - total * weight / sum(even)) < 1


@given(totals, weights)
def test_no_permit_goes_where_there_is_no_weight(total: int, weights: list[int]) -> None:
    """A place without weight gets nothing, unless no place has any."""
    if any(weights):
        assert all(part == 0 for part, weight in zip(split(total, weights), weights, strict=True) if weight == 0)


def test_remainders_begin_where_they_are_told_to() -> None:
    """Three arms with one permit each do not all land on the first of three workers."""
    assert [split(1, [1, 1, 1], first) for first in range(4)] == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_a_few_deals_by_hand() -> None:
    """What one cannot use goes to the others."""
    assert share(10, [100, 100]) == [5, 5]
    assert share(10, [2, 100, 100]) == [2, 4, 4]
    assert share(1, [0, 3, 3]) == [0, 1, 0]
    assert share(7, []) == []
    assert split(7, [3, 1]) == [5, 2]
