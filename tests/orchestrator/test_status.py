"""How a run stands, from its directory alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import orchestrator
from orchestrator.runlock import RunLock, is_locked
from orchestrator.status import RunPhase, list_runs, read_status, read_trial
from spec.clock import SystemClock
from spec.errors import InputError


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run of two tasks, two trials each."""
    tables = {
        "run": {"trials": 2},
        "engine": {"kind": "inline"},
        "provider": {"tasks": ["mockmed::ok", "mockmed::partial"]},
        "arms": [{"name": "screen_only"}],
    }
    orchestrator.run(tables, run_dir=tmp_path / "run")
    return tmp_path / "run"


def cut_behind(run_dir: Path, line_type: str, count: int) -> None:
    """Leave of a journal what stood there when its ``count``-th line of a type was written."""
    journal = run_dir / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if f'"type":"{line_type}"'.encode() in line]
    journal.write_bytes(b"".join(lines[: places[count - 1] + 1]))


def test_a_finished_run(run_dir: Path) -> None:
    """Nothing owed and an end: finished, with the kind's figures."""
    status = read_status(run_dir, {})
    assert (status.phase, status.sessions, status.note) == (RunPhase.FINISHED, 1, "")
    assert status.conservation["scored"] == 4
    assert status.arms["screen_only"] == {
        "n_planned": 4,
        "n_scored": 4,
        "swer": 0.5,
        "over_halt": 0.0,
        "task_success": 0.5,
        "screen_success": 1.0,
    }


def test_a_run_that_was_killed(run_dir: Path) -> None:
    """A journal that breaks off can be resumed; figures are those of what it holds, a torn tail is told."""
    cut_behind(run_dir, "scored", 3)
    status = read_status(run_dir, {})
    assert status.phase is RunPhase.RESUMABLE
    assert (status.conservation["scored"], status.conservation["owed"]) == (3, 1)
    with (run_dir / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"seq":9')
    assert "are cut" in read_status(run_dir, {}).note


def test_nothing_is_scored_yet(run_dir: Path) -> None:
    """Without a row every figure is unknown, not zero."""
    cut_behind(run_dir, "lease", 1)
    figures = read_status(run_dir, {}).arms["screen_only"]
    assert figures["n_scored"] == 0
    assert figures["swer"] is None


def test_a_running_run_is_told_by_its_lock(run_dir: Path) -> None:
    """The lock decides, and looking at it takes it from nobody."""
    assert not is_locked(run_dir)
    with RunLock.acquire(run_dir):
        assert is_locked(run_dir)
        assert read_status(run_dir, {}).phase is RunPhase.RUNNING
        assert [run.phase for run in list_runs(run_dir.parent)] == [RunPhase.RUNNING]
    assert not is_locked(run_dir)
    assert not is_locked(run_dir / "nowhere")


class LaterClock(SystemClock):
    """A clock that is set far ahead."""

    def utc_now(self) -> str:
        return "2126-01-31T12:00:00.000000Z"


def test_a_running_run_names_what_it_works_on(run_dir: Path) -> None:
    """The process and each trial that was handed out and has no end, by the journal where the run does not answer."""
    cut_behind(run_dir, "scored", 3)
    with RunLock.acquire(run_dir):
        status = read_status(run_dir, {}, LaterClock())
    assert status.processes is not None
    assert status.processes.driver == os.getpid()
    (trial,) = status.flight.trials
    assert (trial.key, trial.attempt, trial.worker) == ("screen_only::mockmed::partial::t1", 1, "worker-0")
    assert (trial.phase, status.flight.live) == ("leased", False)
    assert trial.age_s > 1e9


def test_a_dead_run_names_what_it_worked_on(run_dir: Path) -> None:
    """No process, and each trial that was on its way when it died, as old as the journal is; none at an orderly end."""
    assert read_status(run_dir, {}).flight.trials == ()
    cut_behind(run_dir, "scored", 3)
    status = read_status(run_dir, {}, LaterClock())
    assert status.processes is None
    (trial,) = status.flight.trials
    assert (trial.key, trial.attempt) == ("screen_only::mockmed::partial::t1", 1)
    assert trial.age_s < 100


def test_counts_need_no_code(run_dir: Path) -> None:
    """Where the arm cannot be imported any more, the counts are there and the note says why figures are not."""
    text = (run_dir / "run.toml").read_text()
    (run_dir / "run.toml").write_text(text.replace('use = "screen_only"', 'use = "departed_agent:run"'))
    status = read_status(run_dir, {})
    assert status.arms == {"screen_only": {"n_planned": 4, "n_scored": 4}}
    assert "departed_agent" in status.note


def test_a_trial_is_told_with_its_attempts(run_dir: Path) -> None:
    """Every line of the journal that speaks of a trial, an owed one included."""
    key = "screen_only::mockmed::partial::t1"
    told = read_trial(run_dir, key, {})
    assert [line["type"] for line in told.lines] == ["lease", "scored"]
    assert told.row is not None
    assert told.row["episode_id"] == key
    cut_behind(run_dir, "lease", 1)
    owed = read_trial(run_dir, key, {})
    assert (owed.standing, owed.row) == ("owed", None)
    with pytest.raises(InputError, match="no trial of this run"):
        read_trial(run_dir, "screen_only::mockmed::partial::t2", {})


def test_runs_are_listed_with_what_is_known(run_dir: Path) -> None:
    """A run without a summary can be resumed and has no figures; other folders are no runs."""
    (run_dir.parent / "something else").mkdir()
    (run_dir / "summary.json").unlink()
    (run,) = list_runs(run_dir.parent)
    assert (run.run_dir, run.phase, run.scored, run.planned) == (str(run_dir), RunPhase.RESUMABLE, None, None)
    assert run.started_at is not None
