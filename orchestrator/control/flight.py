"""What is on its way in a run: asked of the run itself where it answers, else put together from what it left.

What it left is the journal, which knows who was handed what, and the last look, which knows how far that was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from orchestrator.control.client import Client
from orchestrator.control.lastlook import read_last_look
from orchestrator.control.protocol import TrialTold
from orchestrator.engine.view import WAITING_TO_REPEAT
from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import Line, LineType, recover
from orchestrator.runlock import is_locked
from orchestrator.shapes import check_lease
from spec.clock import Clock
from spec.errors import InputError

LOOK_WAIT_S: Final = 3.0
"""How long a run may take to answer before what it has left is told instead."""

UNKNOWN_PHASE: Final = "leased"
"""What is told of a trial of which only the lease is known."""


class InFlight(NamedTuple):
    """A trial on its way, or one that was when its run died.

    Attributes:
        key: the trial.
        attempt: which execution of it this is, from 1.
        worker: who has it.
        age_s: seconds since it was handed out, up to when this was seen.
        oracle: who reads for it, "" where that is not known.
        phase: where it is on its way.
        phase_age_s: seconds since it entered its phase, up to when this was seen.
        since: when it entered its phase, UTC.
        last_event: what was heard of it last.
        waits_for: what has to happen next, as a sentence; "" where that is not known.
    """

    key: str
    attempt: int
    worker: str
    age_s: float
    oracle: str
    phase: str
    phase_age_s: float
    since: str
    last_event: str
    waits_for: str


@dataclass(frozen=True, slots=True)
class Flight:
    """What is on its way in a run.

    Attributes:
        live: whether the run itself has said so; else it is put together from what it left.
        seen_at: when this was so, UTC.
        trials: the trials, the oldest first; those that wait to be repeated too, where the run has said so.
        left_off: how many more there are.
        paused, draining: whether somebody has asked for that.
        silent_s: seconds since anything was heard of a worker or an oracle, or None where that is not known.
        in_flight_max: how many arms may run at once, in all, or None where that is not known.
    """

    live: bool
    seen_at: str
    trials: tuple[InFlight, ...]
    left_off: int = 0
    paused: bool = False
    draining: bool = False
    silent_s: float | None = None
    in_flight_max: int | None = None


def read_flight(run_dir: Path, clock: Clock, key: str | None = None) -> Flight:
    """What is on its way.

    Args:
        run_dir: the run directory.
        clock: where the present comes from.
        key: only this trial; None: all.

    Raises:
        JournalDamaged: the run does not answer, and its journal is damaged before its last commit.
    """
    try:
        view = Client(run_dir, answer_wait_s=LOOK_WAIT_S, clock=clock).look(key)
    except InputError:
        return _left_behind(run_dir, clock, key)
    now = clock.utc_now()
    trials = tuple(sorted((_told(trial, now) for trial in view.trials), key=lambda trial: -trial.age_s))
    return Flight(True, now, trials, view.left_off, view.paused, view.draining, view.silent_s, view.in_flight_max)


def _left_behind(run_dir: Path, clock: Clock, key: str | None) -> Flight:
    """What the journal and the last look say together; the journal is right where they differ."""
    works = is_locked(run_dir)
    leases = _Leases()
    recovered = recover(run_dir / JOURNAL_NAME, leases.take)
    look = read_last_look(run_dir)
    if look is not None and look.session != len(recovered.sessions):
        look = None
    seen_at = clock.utc_now() if works else max(leases.last_at, "" if look is None else look.at)
    if recovered.ended and not works:
        return Flight(False, seen_at, ())
    looked = {} if look is None else {(trial.key, trial.attempt): trial for trial in look.view.trials}
    at = seen_at if look is None else look.at
    trials = [
        _known(each, lease, looked.get((each, lease["attempt"])), at, seen_at)
        for each, lease in leases.handed_out.items()
        if key is None or each == key
    ]
    if look is None:
        return Flight(False, seen_at, tuple(trials))
    view = look.view
    return Flight(False, seen_at, tuple(trials), 0, view.paused, view.draining, view.silent_s, view.in_flight_max)


class _Leases:
    """What was handed out in the last session and has no end yet, in the order of the leases."""

    def __init__(self) -> None:
        self.handed_out: dict[str, Mapping[str, Any]] = {}
        self.last_at = ""

    def take(self, line: Line) -> None:
        if line.type is LineType.RESUME:
            self.handed_out.clear()
        elif line.type is LineType.LEASE:
            fields: dict[str, Any] = line.fields()
            check_lease(fields, line.offset_bytes)
            self.handed_out.update(dict.fromkeys(fields["keys"], fields))
        elif line.key is not None:
            self.handed_out.pop(line.key, None)
        self.last_at = _at(line)


def _at(line: Line) -> str:
    """When a line was written, without parsing the whole of it; a row may be long."""
    return line.data.partition(b'"at":"')[2].partition(b'"')[0].decode()


def _told(trial: TrialTold, at: str) -> InFlight:
    return InFlight(
        key=trial.key,
        attempt=trial.attempt,
        worker=trial.worker,
        age_s=trial.age_s,
        oracle=trial.oracle,
        phase=trial.phase,
        phase_age_s=trial.phase_age_s,
        since=before(at, trial.phase_age_s),
        last_event=trial.last_event,
        waits_for=trial.waits_for,
    )


def _known(key: str, lease: Mapping[str, Any], looked: TrialTold | None, at: str, seen_at: str) -> InFlight:
    """A trial that was handed out, with what the last look saw of this attempt of it."""
    leased_at: str = lease["at"]
    age_s = seconds_between(leased_at, seen_at)
    if looked is None or looked.phase == WAITING_TO_REPEAT:
        worker = lease["worker"]
        return InFlight(key, lease["attempt"], worker, age_s, "", UNKNOWN_PHASE, age_s, leased_at, UNKNOWN_PHASE, "")
    since = before(at, looked.phase_age_s)
    return _told(looked, at)._replace(age_s=age_s, phase_age_s=seconds_between(since, seen_at), since=since)


def seconds_between(earlier: str, later: str) -> float:
    """Seconds from one moment to another, UTC; a clock that was set back gives none."""
    return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())


def before(at: str, seconds: float) -> str:
    """The moment so many seconds before another, UTC."""
    try:
        moment = datetime.fromisoformat(at) - timedelta(seconds=seconds)
    except OverflowError:
        return at
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def trial_text(trial: InFlight, *, live: bool) -> str:
    """A trial on its way, for a person."""
    waits = f"; {'waits for' if live else 'waited for'}: {trial.waits_for}" if trial.waits_for else ""
    return (
        f"{trial.key}: attempt {trial.attempt} on {trial.worker or 'nobody'}, {trial.phase} since {trial.since} "
        f"({trial.phase_age_s:.1f} s), last event {trial.last_event}{waits}"
    )
