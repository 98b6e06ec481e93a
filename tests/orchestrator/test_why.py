"""Why a trial stands as it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator import why as why_module
from orchestrator.control.flight import Flight, InFlight
from orchestrator.engine.view import WAITING_TO_REPEAT
from orchestrator.journal import Journal, LineType
from orchestrator.runlock import RunLock
from orchestrator.why import TrialState, read_why
from spec.clock import SystemClock
from spec.errors import InputError

KEY: Final = "screen_only::mockmed::ok::t0"
OTHER: Final = "screen_only::mockmed::ok::t1"

CONFIG: Final = """\
format = 1
[run]
trials = 2
[engine]
kind = "inline"
[[arms]]
name = "screen_only"
use = "screen_only"
"""

LEASE: Final = (LineType.LEASE, None, {"lease": 1, "worker": "worker-0", "keys": [KEY], "attempt": 1})
LEASE_2: Final = (LineType.LEASE, None, {"lease": 2, "worker": "worker-1", "keys": [OTHER, KEY], "attempt": 2})
FAILED: Final = (LineType.FAILED, KEY, {"attempt": 1, "cause": "worker_lost", "detail": "it is gone"})
SCORED: Final = (LineType.SCORED, KEY, {"attempt": 2, "row": {"outcome": "success"}})
REOPENED: Final = (LineType.REOPENED, KEY, {"attempt": 2, "why": "retry"})
PARTS: Final[dict[str, Any]] = {
    "tasks": {"mockmed::ok": "sha256:0"},
    "arms": {"screen_only": "sha256:0"},
    "provider": "sha256:0",
}
RESUME: Final[tuple[LineType, None, dict[str, Any]]] = (LineType.RESUME, None, {"parts": PARTS, "trials": 2})

Lines = Sequence[tuple[LineType, str | None, dict[str, Any]]]


async def write(run_dir: Path, lines: Lines) -> None:
    journal = Journal.create(
        run_dir / "journal.jsonl",
        {"run_id": "one", "format": 1, "plan_digest": "sha256:p", "parts": PARTS, "isolation": {}},
        clock=SystemClock(),
    )
    for line_type, key, body in lines:
        journal.append(line_type, key, body)
    await journal.commit()
    journal.append(LineType.NOTE, body={"text": "brings the commit to the disk"})
    await journal.commit()
    journal.close()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run directory without a journal."""
    (tmp_path / "run.toml").write_text(CONFIG)
    return tmp_path


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("lines", "state", "attempts"),
    [
        ((), "never leased", []),
        ((LEASE,), "in flight", [(1, "")]),
        ((LEASE, FAILED), "waiting to repeat", [(1, "failed")]),
        ((LEASE, FAILED, LEASE_2), "in flight", [(1, "failed"), (2, "")]),
        ((LEASE, FAILED, LEASE_2, SCORED), "ended", [(1, "failed"), (2, "scored")]),
        ((LEASE, FAILED, LEASE_2, SCORED, REOPENED), "owed again", [(1, "failed"), (2, "scored")]),
        ((LEASE, RESUME), "owed again", [(1, "")]),
        ((LEASE, FAILED, RESUME), "owed again", [(1, "failed")]),
        (((LineType.CANCELLED, KEY, {"attempt": 0, "cause": "stopped"}),), "ended", [(0, "cancelled")]),
    ],
)
async def test_a_dead_run_is_told_from_its_journal(
    run_dir: Path, lines: Lines, state: str, attempts: list[tuple[int, str]]
) -> None:
    """Every way in which a trial can stand, with its executions in order and how each ended."""
    await write(run_dir, lines)
    why = read_why(run_dir, KEY, {})
    assert why.state.value == state
    assert [(attempt.number, attempt.how) for attempt in why.attempts] == attempts
    assert (why.flight is not None) == (state == "in flight")
    assert ("resume" in why.waits_for) == (state != "ended")
    assert (why.live, why.works) == (False, False)


@pytest.mark.anyio
async def test_causes_are_told(run_dir: Path) -> None:
    """Of a failed attempt cause and detail, of a scored one its outcome, with who had it."""
    await write(run_dir, (LEASE, FAILED, LEASE_2, SCORED))
    first, second = read_why(run_dir, KEY, {}).attempts
    assert (first.worker, first.cause, first.detail) == ("worker-0", "worker_lost", "it is gone")
    assert (second.worker, second.cause) == ("worker-1", "success")
    assert first.leased_at is not None
    assert first.ended_at is not None
    assert first.leased_at <= first.ended_at


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("lines", "seen", "state", "waits_for"),
    [
        ((), {}, TrialState.NEVER_LEASED, "its turn"),
        ((), {"paused": True}, TrialState.NEVER_LEASED, "unpause"),
        ((LEASE,), {"draining": True}, TrialState.OWED, "ending"),
        ((), {"trial": ("opening", 1)}, TrialState.IN_FLIGHT, "the fixture"),
        ((LEASE,), {"trial": ("running", 1)}, TrialState.IN_FLIGHT, "the fixture"),
        ((LEASE, FAILED), {"trial": (WAITING_TO_REPEAT, 1)}, TrialState.WAITING, "the fixture"),
        ((LEASE, FAILED), {"trial": ("opening", 2)}, TrialState.IN_FLIGHT, "the fixture"),
        ((LEASE, FAILED), {"trial": ("reading", 1)}, TrialState.WAITING, "the fixture"),
        ((LEASE, FAILED), {}, TrialState.WAITING, "back-off"),
        ((LEASE, FAILED, LEASE_2, SCORED), {"trial": ("committing", 2)}, TrialState.ENDED, ""),
    ],
)
async def test_a_run_at_work_is_told_by_itself(
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: Lines,
    seen: dict[str, Any],
    state: TrialState,
    waits_for: str,
) -> None:
    """What the run says of the trial counts, unless the journal, which is read later, knows of its end."""
    phase, attempt = seen.get("trial", ("", 0))
    at = "2026-01-31T12:00:00.000000Z"
    trial = InFlight(KEY, attempt, "worker-0", 1.0, "oracle-0", phase, 1.0, at, "leased", "the fixture")
    flight = Flight(
        live=True,
        seen_at=at,
        trials=(trial,) if phase else (),
        paused=seen.get("paused", False),
        draining=seen.get("draining", False),
    )
    monkeypatch.setattr(why_module, "read_flight", lambda *_: flight)
    await write(run_dir, lines)
    with RunLock.acquire(run_dir):
        why = read_why(run_dir, KEY, {})
    assert (why.state, why.works, why.live) == (state, True, True)
    assert waits_for in why.waits_for
    assert bool(waits_for) == bool(why.waits_for)


@pytest.mark.anyio
async def test_an_unknown_trial_is_refused_with_the_nearest(run_dir: Path) -> None:
    """A mistyped key is an error of whoever typed it."""
    await write(run_dir, ())
    with pytest.raises(InputError, match="mockmed::ok"):
        read_why(run_dir, "screen_only::mockmed::okk::t0", {})
