"""Two arms on the same trials: discordant pairs, the difference with its interval, an exact test.

A pair is one (task, trial) that both arms have scored; payload and seed of the two are the same by construction.
The test is McNemar's, exact: under equality a discordant pair falls either way with probability one half. Source:
Q. McNemar, Psychometrika 12 (1947); Holm's step-down correction, S. Holm, Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from orchestrator.metrics.bootstrap import clustered_mean_interval

TRIALS_FOR_COMPARISON: Final = 3
"""Fewer scored pairs of a task than this say nothing about how an arm varies on it."""

_EXACT_BY_HAND_MAX: Final = 1_000


class PairedTask(NamedTuple):
    """How two arms did on the shared trials of one task.

    Attributes:
        pairs: trials that both have scored.
        only_a: trials on which only the first arm was silently wrong.
        only_b: trials on which only the second was.
    """

    pairs: int
    only_a: int
    only_b: int


def why_not_compared(pairs: Mapping[str, PairedTask]) -> str | None:
    """Why two arms cannot be compared over these tasks, or None where they can."""
    if not pairs:
        return "no task was planned"
    worst = min(pairs, key=lambda name: (pairs[name].pairs, name))
    if pairs[worst].pairs >= TRIALS_FOR_COMPARISON:
        return None
    return (
        f"a comparison needs {TRIALS_FOR_COMPARISON} trials of every task that both arms have scored; "
        f"{worst} has {pairs[worst].pairs}"
    )


def compare_pairs(pairs: Mapping[str, PairedTask], seed: int) -> dict[str, Any]:
    """The comparison of two arms, without the correction for several comparisons.

    Args:
        pairs: every planned task of the two arms.
        seed: the run's seed, for the interval.
    """
    only_a = sum(task.only_a for task in pairs.values())
    only_b = sum(task.only_b for task in pairs.values())
    total = sum(task.pairs for task in pairs.values())
    by_task = [task.only_a - task.only_b for task in pairs.values()]
    return {
        "n_pairs": total,
        "n_tasks": len(pairs),
        "discordant": {"only_first": only_a, "only_second": only_b},
        "swer_difference": (only_a - only_b) / total,
        "swer_difference_ci": clustered_mean_interval(by_task, [task.pairs for task in pairs.values()], seed),
        "test": "mcnemar_exact",
        "p_value": mcnemar_exact(only_a, only_b),
    }


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided p value: twice the smaller binomial tail at one half, at most 1."""
    discordant, smaller = only_a + only_b, min(only_a, only_b)
    if discordant == 0:
        return 1.0
    if discordant <= _EXACT_BY_HAND_MAX:
        tail = sum(math.comb(discordant, k) for k in range(smaller + 1))
        return min(1.0, 2 * tail / (1 << discordant))
    # scipy takes a second to import, so small runs, whose sums are short, do without it.
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(smaller, discordant, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
