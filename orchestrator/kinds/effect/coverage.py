"""The ladder table of a report: for a pack of few tasks, how each ended with each arm, and what that adds up to.

It is a table of cases. A reader sees which wrong effects an arm misses, and the lines below say how many, with the
limits of such a count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from orchestrator.kinds.base import Section
from spec.outcome import Outcome, SwerVariant

TASKS_MAX: Final = 40
"""Tasks that are shown one by one; a pack of more has no such table."""

ROWS_BYTES_MAX: Final = 64 * 1024 * 1024
"""Size of a rows' file that is read for it."""

TITLE: Final = "Ladder table (outcomes by task and arm)"

Cell = Counter[str]
Cells = Mapping[tuple[str, str], Cell]
ArmSummaries = Mapping[str, Mapping[str, Any]]


def coverage_sections(arms: ArmSummaries, episodes: Path) -> list[Section]:
    """The table, as a list of one; of none where the pack is too large for it or nothing was scored."""
    tasks_max = max((arm["n_tasks"] for arm in arms.values()), default=0)
    if not 0 < tasks_max <= TASKS_MAX or episodes.stat().st_size > ROWS_BYTES_MAX:
        return []
    cells = _count(episodes)
    tasks = list(dict.fromkeys(task for task, _ in cells))
    if not 0 < len(tasks) <= TASKS_MAX:
        return []
    rows = [(task, *(_cell_text(cells.get((task, arm), Counter())) for arm in arms)) for task in tasks]
    return [Section(TITLE, [*_sums(arms), *_limits(cells)], ("task", *arms), rows)]


def _count(episodes: Path) -> Cells:
    """(task, arm) -> outcomes with their number, in the order of the rows."""
    cells: dict[tuple[str, str], Cell] = {}
    with episodes.open("rb") as lines:
        for line in lines:
            row = orjson.loads(line)
            variant = row["swer_variant"]
            label = row["outcome"] if variant == SwerVariant.NONE else f"{row['outcome']} ({variant})"
            cells.setdefault((row["task_id"], row["arm"]), Counter())[label] += 1
    return cells


def _cell_text(cell: Cell) -> str:
    return ", ".join(f"{count} {label}" for label, count in sorted(cell.items())) or "not scored"


def _sums(arms: ArmSummaries) -> Sequence[str]:
    """One line an arm: what it let pass, what it caught, and what it gave up though it had worked."""
    lines = []
    for name, arm in arms.items():
        counts, scored = arm["outcome_counts"], arm["n_episodes"]
        silent, aborted = counts[Outcome.SILENT_WRONG_EFFECT.value], counts[Outcome.FALSE_ABORT.value]
        correct = counts[Outcome.SUCCESS.value] + aborted
        wrong = scored - correct
        missed = f"{silent / wrong:.1%} undetected" if wrong else "none to detect"
        lines.append(
            f"{name}: silently wrong {silent}/{scored}; of {wrong} wrong or missing effects {wrong - silent} caught, "
            f"{missed}; false aborts {aborted} of {correct} correct effects."
        )
    return lines


def _limits(cells: Cells) -> Sequence[str]:
    within = (
        "A count of zero holds within the record that the oracle reads, and says nothing of what lies outside it (a "
        "second database, a message that was sent, a paper form)."
    )
    if all(len(cell) == 1 for cell in cells.values()):
        repeated = (
            "Every trial of a task ended alike, so this is a coverage matrix of cases and not a rate in any "
            "population: further trials would repeat it."
        )
    else:
        repeated = "Trials of one task ended differently; the tasks were chosen, so their mean is no population rate."
    return within, repeated
