"""How a run stands, from its directory alone: whether somebody works on it, what is owed, what was found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from orchestrator.control.flight import Flight, read_flight
from orchestrator.engine.processes import Processes, processes_of
from orchestrator.history import JOURNAL_NAME, History, read_latest
from orchestrator.journal import Line, LineReader, LineType, recover
from orchestrator.ledger import Ledger, Standing
from orchestrator.manifest import read_manifest
from orchestrator.preparation import Prepared
from orchestrator.results import read_summary
from orchestrator.runlock import LOCK_NAME, is_locked
from orchestrator.shapes import from_row
from orchestrator.stored import find_trial, load_run_config, prepare_again, read_head, stored_plan
from spec.clock import Clock, SystemClock
from spec.errors import InputError


class RunPhase(StrEnum):
    """What can be done with a run."""

    RUNNING = "running"
    RESUMABLE = "can be resumed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Status:
    """How a run stands.

    Attributes:
        sessions: how many sessions have worked on it.
        conservation: planned and its five parts.
        arms: arm -> n_planned, n_scored and the kind's headline figures; only the counts where its kind cannot be
            prepared in this process.
        processes: who works on it, or None where nobody does or its driver's id cannot be read.
        flight: what is on its way, or was when the run died.
        note: why figures are missing, or what a resume would cut; "" where there is nothing to say.
    """

    run_id: str
    phase: RunPhase
    sessions: int
    conservation: Mapping[str, int]
    arms: Mapping[str, Mapping[str, float | None]]
    processes: Processes | None
    flight: Flight
    note: str


def read_status(run_dir: Path, environ: Mapping[str, str], clock: Clock | None = None) -> Status:
    """How a run stands, at this moment.

    Args:
        run_dir: the run directory.
        environ: environment variables for ``${NAME}`` of the run's configuration.
        clock: where the age of a trial in flight is taken from.

    Raises:
        InputError: there is no run, or its journal cannot be read against its configuration.
        JournalDamaged: its journal is damaged before its last commit.
    """
    head = read_head(run_dir)
    locked = is_locked(run_dir)
    loaded = load_run_config(run_dir, environ)
    history = read_latest(run_dir / JOURNAL_NAME, lambda session: stored_plan(session, loaded))
    note = "" if history.recovered.cut is None or locked else str(history.recovered.cut)
    try:
        prepared: Prepared | None = prepare_again(loaded)
    except InputError as error:
        prepared, note = None, f"no figures: {error}"
    return Status(
        run_id=str(head["run_id"]),
        phase=_phase(locked, history),
        sessions=len(history.recovered.sessions),
        conservation=history.ledger.conservation(),
        arms=_arms(run_dir, history.ledger, prepared),
        processes=_processes(run_dir) if locked else None,
        flight=read_flight(run_dir, clock or SystemClock()),
        note=note,
    )


def _phase(locked: bool, history: History) -> RunPhase:
    if locked:
        return RunPhase.RUNNING
    done = history.recovered.ended and not history.ledger.owed()
    return RunPhase.FINISHED if done else RunPhase.RESUMABLE


def _processes(run_dir: Path) -> Processes | None:
    """The process that wrote its id into the lock's file, and those below it."""
    try:
        return processes_of(int((run_dir / LOCK_NAME).read_text()))
    except (OSError, ValueError):
        return None


def _arms(run_dir: Path, ledger: Ledger, prepared: Prepared | None) -> dict[str, dict[str, float | None]]:
    arms: dict[str, dict[str, float | None]] = {
        arm: {"n_planned": counts.planned, "n_scored": counts.scored} for arm, counts in ledger.counts().items()
    }
    if prepared is not None:
        for arm, labels in _labels(run_dir, ledger, prepared).items():
            arms[arm] |= prepared.side.headline(labels)
    return arms


def _labels(run_dir: Path, ledger: Ledger, prepared: Prepared) -> dict[str, Counter[str]]:
    """How often each arm's scored rows have each label."""
    plan = ledger.plan
    labels: dict[str, Counter[str]] = {arm: Counter() for arm in plan.arms}
    with LineReader(run_dir / JOURNAL_NAME) as lines:
        for ordinal in range(len(plan)):
            offset_bytes = ledger.offset_bytes(ordinal)
            if offset_bytes is not None and ledger.standing(ordinal) is Standing.SCORED:
                label = from_row(orjson.loads(lines.read(offset_bytes)), prepared.side.label)
                labels[plan.arms[plan.arm_of(ordinal)]][label] += 1
    return labels


@dataclass(frozen=True, slots=True)
class ToldTrial:
    """What a journal says about one trial.

    Attributes:
        standing: how the trial stands.
        row: its row, or None where it is not scored.
        lines: every line that speaks of it, leases too, without the framing.
    """

    standing: str
    row: Mapping[str, Any] | None
    lines: tuple[dict[str, Any], ...]


def read_trial(run_dir: Path, key: str, environ: Mapping[str, str]) -> ToldTrial:
    """Everything that a run's journal says about one trial.

    Raises:
        InputError: there is no such run or trial.
        JournalDamaged: the journal is damaged before its last commit.
    """
    read_head(run_dir)
    loaded = load_run_config(run_dir, environ)
    ledger = read_latest(run_dir / JOURNAL_NAME, lambda session: stored_plan(session, loaded)).ledger
    ordinal = find_trial(ledger.plan, key)
    lines: list[dict[str, Any]] = []

    def take(line: Line) -> None:
        of_lease = line.type is LineType.LEASE and key in cast(list[str], line.fields()["keys"])
        if line.key == key or of_lease:
            lines.append({"type": line.type.value, "at": line.fields()["at"], **line.body()})

    recover(run_dir / JOURNAL_NAME, take)
    scored = [line.get("row") for line in lines if line["type"] == LineType.SCORED]
    standing = ledger.standing(ordinal)
    return ToldTrial(standing.name.lower(), scored[-1] if standing is Standing.SCORED else None, tuple(lines))


class ListedRun(NamedTuple):
    """A run of a directory, in short.

    Attributes:
        phase: ``finished`` where a summary with nothing owed stands; the journal itself is not read.
        started_at: UTC, or None where the manifest does not say.
        scored, planned: of the last summary, or None before there is one.
    """

    run_dir: str
    phase: RunPhase
    started_at: str | None
    scored: int | None
    planned: int | None


def list_runs(directory: Path) -> list[ListedRun]:
    """The runs below a directory, by name.

    Raises:
        InputError: the directory cannot be read.
    """
    try:
        folders = sorted(folder for folder in directory.iterdir() if (folder / JOURNAL_NAME).is_file())
    except OSError as error:
        raise InputError(f"{directory}: cannot be read: {error.strerror}") from error
    return [_listed(folder) for folder in folders]


def _listed(folder: Path) -> ListedRun:
    try:
        line: dict[str, int] = read_summary(folder)["conservation"]
    except InputError:
        line = {}
    done = RunPhase.FINISHED if line.get("owed") == 0 else RunPhase.RESUMABLE
    phase = RunPhase.RUNNING if is_locked(folder) else done
    return ListedRun(
        str(folder), phase, read_manifest(folder).get("started_at"), line.get("scored"), line.get("planned")
    )
