"""The part of kind effect in the driver: rows, running headline, digest, summary, sections of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from oracle.base import Judgement
from orchestrator.kinds.base import Counts, Execution, Section
from orchestrator.kinds.effect.check import row_problems
from orchestrator.kinds.effect.row import effect_digest_entry, effect_row
from orchestrator.kinds.effect.scan import scan_episodes
from orchestrator.kinds.effect.sections import effect_sections
from orchestrator.kinds.effect.summary import summarise_effect
from orchestrator.kinds.effect.tasks import task_problems
from orchestrator.metrics import TRIALS_FOR_COMPARISON
from providers.base import Provider
from spec.canonical import Json, JsonObject
from spec.outcome import Outcome
from spec.task import Task, task_digest
from spec.trial import Payload, Trial

_REPORTED: Final = (Outcome.SUCCESS, Outcome.SILENT_WRONG_EFFECT)
"""The labels of trials that reported success."""


class EffectDriver:
    """Implements ``orchestrator.kinds.base.DriverSide``.

    Args:
        provider: the system of record; asked for its schema only.
        tasks: the planned tasks, in plan order.
    """

    def __init__(self, provider: Provider, tasks: Sequence[Task]) -> None:
        self._schema = provider.schema
        self._tasks = {task.task_id: task for task in tasks}

    def oracle_fields(self) -> Mapping[str, Any]:
        """What ``oracle.effect.EffectOracle`` is built with."""
        return {"tasks": self._tasks, "schema": self._schema}

    def problems(self, task: object, payload: Payload) -> list[str]:
        """Why a task could not be judged."""
        return task_problems(task, payload, self._schema)

    def patience_s(self) -> float:
        """Seconds that the most patient task lets its record be waited for."""
        tasks = self._tasks.values()
        return max((max(part.timeout_s for part in task.contract) + task.settle_s for task in tasks), default=0.0)

    def task_digests(self) -> Mapping[str, str]:
        """Task id -> content digest, in the pack's order."""
        return {name: task_digest(task) for name, task in self._tasks.items()}

    def row(self, trial: Trial, report: JsonObject, judgement: Judgement, execution: Execution) -> dict[str, Any]:
        """The scored row of a trial."""
        return effect_row(self._tasks[trial.task_id], trial, report, judgement, execution)

    def label(self, row: Mapping[str, Any]) -> str:
        """The outcome."""
        return str(row["outcome"])

    def headline(self, labels: Mapping[str, int]) -> dict[str, float | None]:
        """SWER with over-halt, and both successes, from counts of outcomes."""
        total = sum(labels.values())

        def share(*outcomes: Outcome) -> float | None:
            return sum(labels.get(outcome.value, 0) for outcome in outcomes) / total if total else None

        return {
            "swer": share(Outcome.SILENT_WRONG_EFFECT),
            "over_halt": share(Outcome.OVER_HALT),
            "task_success": share(Outcome.SUCCESS),
            "screen_success": share(*_REPORTED),
        }

    def digest_entry(self, row: Mapping[str, Any]) -> dict[str, Json]:
        """The part of a row that ``results_digest`` covers."""
        return effect_digest_entry(row)

    def check_row(self, row: Mapping[str, Any]) -> list[str]:
        """Everything in a row that does not follow from its task, report and reading; empty for a sound row."""
        return row_problems(self._tasks, row)

    def summarise(self, episodes: Path, counts: Mapping[str, Counts], seed: int) -> tuple[dict[str, Any], list[Any]]:
        """``arms`` and ``comparisons`` of summary.json, from the rows' file.

        Raises:
            InputError: the file does not hold rows of this plan.
            ValueError: the file does not hold the rows that the counts speak of.
        """
        tasks = list(self._tasks.values())
        planned = max((count.planned for count in counts.values()), default=0)
        paired = len(counts) > 1 and planned >= TRIALS_FOR_COMPARISON * len(tasks)
        groups, pairs = scan_episodes(episodes, list(counts), list(self._tasks), paired=paired)
        return summarise_effect(tasks, counts, groups, pairs, seed)

    def sections(self, summary: Mapping[str, Any], episodes: Path) -> Sequence[Section]:
        """The report's sections, the silent wrong effects among them."""
        return effect_sections(summary, episodes)
