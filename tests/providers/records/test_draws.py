"""Draws: pinned, so that no version of Python or of ours can change a pack that was published."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from providers.records.draws import Draws


def test_the_first_draws_are_these() -> None:
    """A stream is known by its name alone."""
    draws = Draws("task", 0, 1)
    assert [draws.below(1000) for _ in range(5)] == PINNED
    assert "".join(Draws("round").shuffled("abcdefgh")) == PINNED_ORDER


PINNED = [251, 224, 110, 277, 120]
PINNED_ORDER = "ebhgafdc"


@given(st.integers(), st.integers(-50, 50), st.integers(0, 100), st.lists(st.integers(), max_size=12))
def test_draws_keep_to_their_bounds(seed: int, first: int, width: int, items: list[int]) -> None:
    """A number lies between its ends, and what is shuffled is all there."""
    draws = Draws(seed)
    assert first <= draws.between(first, first + width) <= first + width
    assert 0 <= draws.below(width + 1) <= width
    assert sorted(draws.shuffled(items)) == sorted(items)


def test_every_item_is_picked() -> None:
    """In a few hundred picks of five items each comes up, and no two names draw alike."""
    draws = Draws("picks")
    assert {draws.pick("abcde") for _ in range(300)} == set("abcde")
    assert {draws.one_in(3) for _ in range(100)} == {True, False}
    assert Draws("a", 1).below(2**64) != Draws("a1").below(2**64) != Draws("a", 2).below(2**64)
