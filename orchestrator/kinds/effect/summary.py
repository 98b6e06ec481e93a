"""From counts to the summary of each arm and the comparisons between arms (pure).

Formulas: SPEC.md section 2. Every rate of an arm and of a cell is over its scored trials, with bounds over the
planned ones. The cells are those of the planned tasks, so that a cell without a scored trial is still to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from orchestrator.kinds.base import Counts
from orchestrator.kinds.effect.scan import Group, Pairs
from orchestrator.metrics import (
    PairedTask,
    TaskTally,
    compare_pairs,
    gap_interval,
    holm,
    pass_hat_k,
    rate,
    why_not_compared,
)
from spec.outcome import Outcome, SwerVariant
from spec.task import Task


def summarise_effect(
    tasks: Sequence[Task], counts: Mapping[str, Counts], groups: Sequence[Group], pairs: Pairs, seed: int
) -> tuple[dict[str, Any], list[Any]]:
    """``arms`` and ``comparisons`` of summary.json.

    Args:
        tasks: the planned tasks, in plan order.
        counts: arm -> how its planned trials ended, in the configuration's order.
        groups: the scored rows, counted.
        pairs: the shared trials of every two arms.
        seed: the run's seed, for the bootstrap.

    Raises:
        ValueError: the rows are not those that the counts speak of.
    """
    by_arm: dict[str, list[Group]] = {name: [] for name in counts}
    for group in groups:
        by_arm[group.arm].append(group)
    arms = {name: _arm(tasks, counts[name], by_arm[name], seed) for name in counts}
    return arms, _comparisons(tasks, arms, pairs, seed)


def _arm(tasks: Sequence[Task], counts: Counts, groups: Sequence[Group], seed: int) -> dict[str, Any]:
    rows = sum(group.rows for group in groups)
    if rows != counts.scored:
        raise ValueError(f"there are {rows} rows of an arm with {counts.scored} scored trials")
    success = _count(groups, outcome=Outcome.SUCCESS)
    reported = sum(group.rows for group in groups if group.reported_success)
    passed = pass_hat_k(_tallies(tasks, groups))
    return {
        "n_planned": counts.planned,
        "n_episodes": rows,
        "n_unreadable": counts.unreadable,
        "n_infrastructure": counts.infrastructure,
        "n_cancelled": counts.cancelled,
        "n_owed": counts.owed,
        "unreadable_attempts": counts.unreadable_attempts,
        "n_tasks": len({group.task_id for group in groups}),
        **_rates(groups, counts.planned),
        "success_effect_gap": (reported - success) / rows if rows else None,
        "success_effect_gap_ci": gap_interval(
            successes=success, reported_wrongly=reported - success, trials=rows, seed=seed
        ),
        **_amounts(groups),
        "pass_hat_k": passed.values,
        "pass_hat_k_reason": passed.reasons,
        "outcome_counts": {outcome.value: _count(groups, outcome=outcome) for outcome in Outcome},
        "cells": _cells(tasks, counts, groups),
        "comparisons_reason": {},
    }


def _rates(groups: Sequence[Group], planned: int) -> dict[str, Any]:
    rows = sum(group.rows for group in groups)
    numerators = {
        "swer": _count(groups, outcome=Outcome.SILENT_WRONG_EFFECT),
        "swer_wrong_write": _count(groups, variant=SwerVariant.WRONG_WRITE),
        "swer_phantom": _count(groups, variant=SwerVariant.PHANTOM),
        "over_halt": _count(groups, outcome=Outcome.OVER_HALT),
        "task_success": _count(groups, outcome=Outcome.SUCCESS),
        "screen_success": sum(group.rows for group in groups if group.reported_success),
    }
    return {name: rate(numerator, rows, planned) for name, numerator in numerators.items()}


def _count(groups: Iterable[Group], *, outcome: Outcome | None = None, variant: SwerVariant | None = None) -> int:
    return sum(
        group.rows
        for group in groups
        if (outcome is None or group.outcome == outcome) and (variant is None or group.variant == variant)
    )


def _amounts(groups: Sequence[Group]) -> dict[str, Any]:
    """Totals and means; with unknown usage the cost is a lower bound, and ``n_usage_unknown`` says of how many."""
    rows = sum(group.rows for group in groups)
    cost = math.fsum(group.cost_usd for group in groups)
    return {
        "total_cost_usd": cost,
        "mean_cost_usd": cost / rows if rows else None,
        "mean_latency_s": math.fsum(group.latency_s for group in groups) / rows if rows else None,
        "n_usage_unknown": sum(group.usage_unknown for group in groups),
    }


def _tallies(tasks: Sequence[Task], groups: Sequence[Group]) -> dict[str, TaskTally]:
    tallies = {task.task_id: TaskTally(0, 0) for task in tasks}
    for group in groups:
        trials, successes = tallies[group.task_id]
        success = group.rows if group.outcome == Outcome.SUCCESS else 0
        tallies[group.task_id] = TaskTally(trials + group.rows, successes + success)
    return tallies


def _cells(tasks: Sequence[Task], counts: Counts, groups: Sequence[Group]) -> list[dict[str, Any]]:
    """The same rates per category and substrate, in the order in which the tasks name them."""
    cell_of = {task.task_id: (task.category, task.substrate) for task in tasks}
    planned_of_a_task = counts.planned // len(tasks) if tasks else 0
    cells = []
    for category, substrate in dict.fromkeys(cell_of.values()):
        own = [group for group in groups if cell_of[group.task_id] == (category, substrate)]
        planned = planned_of_a_task * sum(1 for cell in cell_of.values() if cell == (category, substrate))
        cells.append(
            {
                "category": category.value,
                "substrate": substrate.value,
                "n_planned": planned,
                "n_episodes": sum(group.rows for group in own),
                "n_tasks": len({group.task_id for group in own}),
                **_rates(own, planned),
                **_amounts(own),
            }
        )
    return cells


def _comparisons(tasks: Sequence[Task], arms: dict[str, Any], pairs: Pairs, seed: int) -> list[Any]:
    """Every two arms that can be compared; the reason for the others goes into the arms' summaries."""
    made: list[dict[str, Any]] = []
    for first, second in combinations(arms, 2):
        shared = pairs.get((first, second), {})
        by_task = {task.task_id: shared.get(task.task_id, PairedTask(0, 0, 0)) for task in tasks}
        reason = why_not_compared(by_task)
        if reason is not None:
            arms[first]["comparisons_reason"][second] = reason
            arms[second]["comparisons_reason"][first] = reason
            continue
        rates = {name: [arms[arm][name]["rate"] for arm in (first, second)] for name in ("swer", "over_halt")}
        made.append({"arms": [first, second], **rates, **compare_pairs(by_task, seed)})
    for comparison, adjusted in zip(made, holm([one["p_value"] for one in made]), strict=True):
        comparison["p_holm"] = adjusted
    return made
