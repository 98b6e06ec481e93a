"""The one seam at which a kind of measurement plugs into the engine.

A kind is three parts, each found by ``"module:attribute"``, because they live in different processes:

* the **worker's side** turns what an arm returned into a report (plain JSON) or says what is wrong with it;
* the **oracle's side** (``oracle.base.OracleSide``) judges; it is built from plain fields;
* the **driver's side** makes rows, the summary and the report's section.

The engine calls these and knows nothing else of a kind. A kind has tasks of its own type; the engine reads their
``task_id`` and fills in the parameters of their ``goal``, which is what an arm is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from oracle.base import Judgement
from spec.canonical import Json, JsonObject
from spec.report import ArmFault
from spec.trial import Payload, Trial


@dataclass(frozen=True, slots=True)
class Kind:
    """The address of a kind's three parts.

    Attributes:
        name: as in the configuration.
        worker: ``"module:attribute"`` of a callable ``() -> WorkerSide``.
        oracle: ``"module:attribute"`` of a callable ``(**DriverSide.oracle_fields()) -> OracleSide``.
        driver: ``"module:attribute"`` of a callable ``(provider, tasks) -> DriverSide``.
    """

    name: str
    worker: str
    oracle: str
    driver: str


class WorkerSide(Protocol):
    """A kind's part beside the arm: from what an arm returned to a report."""

    def parse(self, returned: object) -> JsonObject:
        """The report as plain JSON.

        Raises:
            spec.report.MalformedReport: with every problem found.
        """

    def not_reported(self, fault: ArmFault, detail: str) -> JsonObject:
        """The report that stands for an arm that broke the rules: it has not reported success."""


class Execution(NamedTuple):
    """How one attempt went, for the row.

    Attributes:
        attempt: from 1.
        isolation: the arm's isolation level.
        arm_fault: how the arm broke the rules, or None.
        fault_detail: one sentence about it.
        started_at, finished_at: UTC, ISO 8601 with microseconds; labels only.
        latency_s: seconds that the arm ran, from the monotonic clock.
        reads: how often the oracle read the record after the arm.
    """

    attempt: int
    isolation: str
    arm_fault: ArmFault | None
    fault_detail: str
    started_at: str
    finished_at: str
    latency_s: float
    reads: int


class Counts(NamedTuple):
    """How the planned trials of an arm ended."""

    planned: int
    scored: int
    unreadable: int
    infrastructure: int
    cancelled: int
    owed: int
    unreadable_attempts: int


class Section(NamedTuple):
    """A kind's part of a report: titled tables and paragraphs, rendered by ``orchestrator.report``.

    Attributes:
        title: heading.
        paragraphs: plain text.
        columns: table head; empty where there is no table.
        rows: cells as text, one tuple a row.
    """

    title: str
    paragraphs: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


class DriverSide(Protocol):
    """A kind's part in the driver: pure, over plain values."""

    def oracle_fields(self) -> Mapping[str, Any]:
        """What the oracle's side is built with; must survive pickling.

        Plain values, or objects of installed packages: another process cannot read an object whose class stands in
        the configuration's own folder, which is on no path there.
        """

    def problems(self, task: Any, payload: Payload) -> Sequence[str]:  # noqa: ANN401 - a kind has tasks of its own type
        """Why a task could not be judged; empty where it can. Asked before anything is started."""

    def task_digests(self) -> Mapping[str, str]:
        """Task id -> content digest, in the pack's order."""

    def row(self, trial: Trial, report: JsonObject, judgement: Judgement, execution: Execution) -> dict[str, Any]:
        """The scored row of a trial; plain JSON with finite numbers."""

    def label(self, row: Mapping[str, Any]) -> str:
        """The row's label for running counts."""

    def headline(self, labels: Mapping[str, int]) -> dict[str, float | None]:
        """The headline figures of an arm from counts of labels; null where nothing was scored."""

    def digest_entry(self, row: Mapping[str, Any]) -> dict[str, Json]:
        """The part of a row that ``results_digest`` covers: no times, texts, costs or hosts."""

    def patience_s(self) -> float:
        """Seconds that the most patient task lets its record be waited for after the arm.

        It bounds how long an oracle may be silent; a kind that leaves it out waits for no record.
        """

    def check_row(self, row: Mapping[str, Any]) -> Sequence[str]:
        """What is wrong with a row by itself: its label derived anew, its task's facts; empty where nothing is.

        Asked by `verify` alone, which does without where a kind leaves it out.
        """

    def summarise(self, episodes: Path, counts: Mapping[str, Counts], seed: int) -> tuple[dict[str, Any], list[Any]]:
        """``arms`` and ``comparisons`` of summary.json, from the rows' file and the counts of each arm."""

    def sections(self, summary: Mapping[str, Any], episodes: Path) -> Sequence[Section]:
        """The kind's sections of the report."""
