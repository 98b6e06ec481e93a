"""How many trials of each arm may run at once, and on which worker (pure).

``in_flight`` is a limit on all arms together, an arm may have a limit of its own, and arms share fairly: a slow arm
never takes the place of a quick one. What an arm cannot use goes to the others.
"""

from __future__ import annotations

from collections.abc import Sequence


def share(total: int, demands: Sequence[int]) -> list[int]:
    """Deal ``total`` permits out evenly, nobody more than it asks for.

    Args:
        total: permits to deal out.
        demands: how many each could use.

    Returns:
        One number a demand; their sum is min(total, sum of demands).
    """
    given = [0] * len(demands)
    modest_first = sorted(range(len(demands)), key=lambda place: demands[place])
    for served, place in enumerate(modest_first):
        even_part = -(-total // (len(demands) - served))
        given[place] = min(demands[place], even_part)
        total -= given[place]
    return given


def split(total: int, weights: Sequence[int], first: int = 0) -> list[int]:
    """Split ``total`` over places in proportion to their weights, in whole numbers.

    Args:
        total: permits to split.
        weights: one a place; all zero counts as all equal.
        first: the place from which remainders are given out, so that they do not all go to the same one.
    """
    whole = sum(weights)
    if whole == 0:
        weights, whole = [1] * len(weights), len(weights)
    parts = [total * weight // whole for weight in weights]
    rest = total - sum(parts)
    order = [(first + turn) % len(weights) for turn in range(len(weights))]
    by_fraction = sorted(order, key=lambda place: -(total * weights[place] % whole))
    for place in by_fraction[:rest]:
        parts[place] += 1
    return parts
