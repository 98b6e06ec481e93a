"""What is on its way, from the run itself or from what it left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.control.flight import before, read_flight, seconds_between, trial_text
from orchestrator.control.lastlook import LAST_LOOK, LastLook
from orchestrator.control.protocol import ViewTold, to_line
from orchestrator.engine.view import WAITING_TO_REPEAT, RunView
from orchestrator.runlock import RunLock
from spec.clock import SystemClock

OPEN: Final = "screen_only::mockmed::partial::t1"
ENDED: Final = "screen_only::mockmed::ok::t0"


@pytest.fixture
def dead_run(run_dir: Path) -> Path:
    """A run that was killed before its last trial had an end."""
    journal = run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if b'"scored"' in line and OPEN.encode() in line)
    journal.write_bytes(b"".join(lines[:place]))
    return run_dir


def leave_look(run_dir: Path, *views: Any, session: int = 1) -> str:
    """A last look of a dead run; when it was."""
    at = SystemClock().utc_now()
    view = ViewTold.of(RunView(True, False, 7.0, 256, views))
    (run_dir / LAST_LOOK).write_bytes(to_line(LastLook(session=session, at=at, view=view)))
    return at


def test_a_run_at_work_tells_it_itself(hosted: Any, run_dir: Path, view_of: Callable[..., Any]) -> None:
    """Oldest first, with when each entered its phase."""
    hosted.run.trials = (view_of(ENDED)._replace(age_s=1.0), view_of(OPEN))
    flight = read_flight(run_dir, SystemClock())
    assert (flight.live, flight.paused, flight.silent_s) == (True, False, 0.5)
    assert [trial.key for trial in flight.trials] == [OPEN, ENDED]
    assert seconds_between(flight.trials[0].since, flight.seen_at) == pytest.approx(2.0)
    assert [trial.key for trial in read_flight(run_dir, SystemClock(), ENDED).trials] == [ENDED]


def test_a_dead_run_is_told_by_its_journal_and_its_last_look(dead_run: Path, view_of: Callable[..., Any]) -> None:
    """What the journal has no end for, with the phase that was seen last; what it has an end for is left out."""
    (bare,) = read_flight(dead_run, SystemClock()).trials
    assert (bare.key, bare.attempt, bare.phase, bare.waits_for) == (OPEN, 1, "leased", "")
    at = leave_look(dead_run, view_of(OPEN), view_of(ENDED))
    flight = read_flight(dead_run, SystemClock())
    (trial,) = flight.trials
    assert (flight.live, flight.paused, flight.silent_s, flight.seen_at) == (False, True, 7.0, at)
    assert (trial.key, trial.phase, trial.last_event) == (OPEN, "running", "Ready")
    assert trial.phase_age_s == pytest.approx(2.0)
    assert trial.since == before(at, 2.0)
    assert read_flight(dead_run, SystemClock(), ENDED).trials == ()


def test_a_look_that_does_not_fit_the_journal_is_not_believed(dead_run: Path, view_of: Callable[..., Any]) -> None:
    """Of another session, of another attempt, or spoilt: then only the lease is known."""
    leave_look(dead_run, view_of(OPEN), session=2)
    assert read_flight(dead_run, SystemClock()).trials[0].phase == "leased"
    leave_look(dead_run, view_of(OPEN, attempt=2))
    assert read_flight(dead_run, SystemClock()).trials[0].phase == "leased"
    leave_look(dead_run, view_of(OPEN, phase=WAITING_TO_REPEAT))
    assert read_flight(dead_run, SystemClock()).trials[0].phase == "leased"
    (dead_run / LAST_LOOK).write_bytes(orjson.dumps({"format": 1}))
    assert read_flight(dead_run, SystemClock()).trials[0].phase == "leased"


def test_a_run_that_does_not_answer_is_told_up_to_now(dead_run: Path, view_of: Callable[..., Any]) -> None:
    """A driver that hangs grows older: phase and age are counted to the present."""
    leave_look(dead_run, view_of(OPEN))

    class Later(SystemClock):
        def utc_now(self) -> str:
            return before(super().utc_now(), -3600)

    with RunLock.acquire(dead_run):
        flight = read_flight(dead_run, Later())
    assert not flight.live
    assert flight.trials[0].phase_age_s == pytest.approx(3602, abs=30)
    assert flight.trials[0].age_s > 3600


def test_nothing_is_on_its_way_behind_an_orderly_end(run_dir: Path, view_of: Callable[..., Any]) -> None:
    """A look that stayed behind does not make trials of a finished run fly."""
    leave_look(run_dir, view_of(OPEN))
    assert read_flight(run_dir, SystemClock()).trials == ()


def test_moments() -> None:
    """Moments are UTC with microseconds; a clock that was set back gives no negative age, and no figure breaks it."""
    at = "2026-01-31T12:00:00.000000Z"
    assert before(at, 1.5) == "2026-01-31T11:59:58.500000Z"
    assert seconds_between(before(at, 1.5), at) == 1.5
    assert seconds_between(at, before(at, 1.5)) == 0.0
    assert before(at, 1e300) == before(at, 1e12) == at


def test_a_trial_in_words(dead_run: Path, view_of: Callable[..., Any]) -> None:
    """Attempt, worker, phase, since when, last event, and what it waits for."""
    leave_look(dead_run, view_of(OPEN))
    text = trial_text(read_flight(dead_run, SystemClock()).trials[0], live=False)
    assert text.startswith(f"{OPEN}: attempt 1 on worker-0, running since ")
    assert text.endswith("last event Ready; waited for: worker-0 ends the arm")
