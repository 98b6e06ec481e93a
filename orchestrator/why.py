"""Why a trial stands as it does: what has happened to it, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson

from orchestrator.control.flight import Flight, InFlight, read_flight
from orchestrator.engine.view import WAITING_TO_REPEAT
from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import TERMINAL, Line, LineType, recover
from orchestrator.runlock import is_locked
from orchestrator.shapes import check_lease, from_row
from orchestrator.stored import find_trial, load_run_config, read_head, stored_plan
from spec.clock import Clock, SystemClock


class TrialState(StrEnum):
    """How a trial stands."""

    NEVER_LEASED = "never leased"
    IN_FLIGHT = "in flight"
    WAITING = WAITING_TO_REPEAT
    OWED = "owed again"
    ENDED = "ended"


class Attempt(NamedTuple):
    """One execution of a trial.

    Attributes:
        number: from 1.
        worker: who had it.
        leased_at, ended_at: UTC; None: it has no end, or its lease is not in the journal.
        how: type of the line that ended it, "" while it has none.
        cause, detail: why it ended so, "" where there is nothing to say.
    """

    number: int
    worker: str
    leased_at: str | None
    ended_at: str | None = None
    how: str = ""
    cause: str = ""
    detail: str = ""


class Why(NamedTuple):
    """Why a trial stands as it does.

    Attributes:
        live: whether the run itself has told what is on its way.
        works: whether somebody works on the run.
        waits_for: what has to happen next, as a sentence; "" where the trial has ended.
        flight: where it is, or was when the run died; None where it is not on its way.
        attempts: its executions, in order.
    """

    key: str
    state: TrialState
    live: bool
    works: bool
    waits_for: str
    flight: InFlight | None
    attempts: tuple[Attempt, ...]


def read_why(run_dir: Path, key: str, environ: Mapping[str, str], clock: Clock | None = None) -> Why:
    """Why a trial stands as it does, in a run that works, has ended or has died.

    Args:
        run_dir: the run directory.
        key: the trial.
        environ: environment variables for ``${NAME}`` of the run's configuration.
        clock: where the present comes from.

    Raises:
        InputError: there is no such run or trial.
        JournalDamaged: the journal is damaged before its last commit.
    """
    read_head(run_dir)
    loaded = load_run_config(run_dir, environ)
    works = is_locked(run_dir)
    flight = read_flight(run_dir, clock or SystemClock(), key)  # before the journal, which is right where it knows more
    story = _Story(key)
    recovered = recover(run_dir / JOURNAL_NAME, story.take)
    find_trial(stored_plan(recovered.sessions[-1], loaded), key)
    found = flight.trials[0] if flight.trials and not story.ended else None
    state = _state(story, found)
    return Why(
        key, state, flight.live, works, _waits_for(run_dir, state, flight, found, works), found, tuple(story.attempts)
    )


class _Story:
    """The journal's lines about one trial."""

    def __init__(self, key: str) -> None:
        self._key, self._needle = key, orjson.dumps(key)
        self.attempts: list[Attempt] = []
        self.ended = self.failed = False

    def take(self, line: Line) -> None:
        if line.type is LineType.LEASE and self._is_leased(line):
            fields = cast(dict[str, Any], line.fields())
            check_lease(fields, line.offset_bytes)
            self.attempts.append(Attempt(fields["attempt"], str(fields.get("worker", "")), fields["at"]))
            self.failed = False
        elif line.type is LineType.RESUME:
            self.failed = False
        elif line.key == self._key and (line.type in TERMINAL or line.type is LineType.FAILED):
            self._end(line)
        elif line.key == self._key and line.type is LineType.REOPENED:
            self.ended = self.failed = False

    def has_failed(self, attempt: int) -> bool:
        """Whether an attempt has failed; a later one may be under way before the journal's file shows its lease."""
        return self.failed and attempt <= self.attempts[-1].number

    def _is_leased(self, line: Line) -> bool:
        return self._needle in line.data and self._key in cast(Sequence[str], line.fields()["keys"])

    def _end(self, line: Line) -> None:
        self.ended, self.failed = line.type in TERMINAL, line.type is LineType.FAILED
        fields = cast(dict[str, Any], line.fields())
        if not self.attempts or self.attempts[-1].number != fields.get("attempt"):
            self.attempts.append(Attempt(fields.get("attempt", 0), "", None))
        cause, detail = str(fields.get("cause", "")), str(fields.get("detail", ""))
        if line.type is LineType.SCORED:
            cause = from_row(fields, lambda row: str(row.get("outcome", "")))
        self.attempts[-1] = self.attempts[-1]._replace(
            ended_at=fields["at"], how=line.type.value, cause=cause, detail=detail
        )


def _state(story: _Story, found: InFlight | None) -> TrialState:
    if story.ended:
        return TrialState.ENDED
    if found is not None and found.phase != WAITING_TO_REPEAT and not story.has_failed(found.attempt):
        return TrialState.IN_FLIGHT
    if story.failed or found is not None:
        return TrialState.WAITING
    return TrialState.OWED if story.attempts else TrialState.NEVER_LEASED


def _waits_for(run_dir: Path, state: TrialState, flight: Flight, found: InFlight | None, works: bool) -> str:
    if state is TrialState.ENDED:
        return ""
    if not works:
        return f"nobody works on the run; `resume {run_dir}` goes on with it"
    if found is not None and found.waits_for:
        return found.waits_for
    if flight.draining:
        return "the run is ending; the trial stays owed unless the rest is cancelled"
    if state is TrialState.IN_FLIGHT:
        return "the run has not said how far it is"
    if flight.paused:
        return "the run is paused; `unpause` lets it go on"
    return "its back-off" if state is TrialState.WAITING else "its turn: a free place among what may be in flight"
