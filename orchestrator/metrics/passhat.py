"""pass^k: how likely k trials of a task in a row all succeed, as a mean over tasks.

Source: the unbiased estimate C(c, k) / C(n, k) for a task with c successes in n trials (SPEC.md section 8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

PASS_HAT_KS: Final = (1, 2, 4, 8)


class TaskTally(NamedTuple):
    """How the scored trials of one task went.

    Attributes:
        trials: scored trials.
        successes: how many of them succeeded.
    """

    trials: int
    successes: int


class PassHat(NamedTuple):
    """pass^k for every k.

    Attributes:
        values: k as text -> the mean, or None where it cannot be had.
        reasons: k as text -> why its value is None.
    """

    values: dict[str, float | None]
    reasons: dict[str, str]


def pass_hat_k(tasks: Mapping[str, TaskTally]) -> PassHat:
    """The mean over all tasks for each k of ``PASS_HAT_KS``.

    A task with fewer than k scored trials makes the value null, with the reason: leaving such a task out would
    compare arms over different tasks.

    Args:
        tasks: every planned task, those without a scored trial included.
    """
    values: dict[str, float | None] = {}
    reasons: dict[str, str] = {}
    for k in PASS_HAT_KS:
        short = [name for name, tally in tasks.items() if tally.trials < k]
        if short or not tasks:
            values[str(k)] = None
            reasons[str(k)] = _reason(k, short, tasks)
        else:
            values[str(k)] = math.fsum(_of_task(tally, k) for tally in tasks.values()) / len(tasks)
    return PassHat(values, reasons)


def _of_task(tally: TaskTally, k: int) -> float:
    return math.comb(tally.successes, k) / math.comb(tally.trials, k)


def _reason(k: int, short: list[str], tasks: Mapping[str, TaskTally]) -> str:
    if not tasks:
        return "no task was planned"
    worst = min(short, key=lambda name: (tasks[name].trials, name))
    return (
        f"{len(short)} of {len(tasks)} tasks have fewer than {k} scored trials, such as {worst} "
        f"with {tasks[worst].trials}"
    )
