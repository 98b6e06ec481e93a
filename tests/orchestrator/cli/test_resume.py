"""``resume``: the lock first, then what is owed and only that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.runlock import RunLock

Call = Callable[..., Any]


def test_more_trials_extend_a_finished_run(call: Call, run_dir: Path) -> None:
    """Raising run.trials owes the further trials and nothing else, and the run verifies afterwards."""
    said = call("resume", run_dir, "--set", "run.trials=3", "--json", "--quiet")
    assert said.json["conservation"]["planned"] == said.json["conservation"]["scored"] == 27
    assert call("status", run_dir, "--json").json["sessions"] == 2
    assert call("verify", run_dir).code == 0


def test_a_held_lock_is_exit_five(call: Call, run_dir: Path) -> None:
    """While somebody works on the run, resume is refused at once."""
    with RunLock.acquire(run_dir):
        said = call("resume", run_dir, "--json")
    assert said.code == said.json["exit"] == 5


def test_a_gated_change_is_refused_with_its_name(call: Call, run_dir: Path) -> None:
    """A key that results depend on is named with what it invalidates; accepted, the run goes on and verifies."""
    before = (run_dir / "journal.jsonl").read_bytes()
    said = call("resume", run_dir, "--set", "run.seed=5", "--json")
    assert said.code == 2
    assert "run.seed was 0 and would be 5" in said.json["error"]["message"]
    assert "invalidates 18 ended trials: 18 of screen_only" in said.json["error"]["message"]
    assert (run_dir / "journal.jsonl").read_bytes() == before
    said = call("resume", run_dir, "--set", "run.seed=5", "--accept-changes", "--json")
    assert (said.code, said.json["conservation"]["scored"]) == (0, 18)
    assert "invalidates 18 ended trials" in said.err
    assert call("verify", run_dir).code == 0
    assert call("report", run_dir).code == 0
    assert call("status", run_dir, "--json").json["sessions"] == 2


def test_fewer_trials_are_a_gated_change_too(call: Call, run_dir: Path) -> None:
    """Accepted, only what is planned is in a result: rows, counts, status, one trial, a replay."""
    assert call("resume", run_dir, "--set", "run.trials=1").code == 2
    said = call("resume", run_dir, "--set", "run.trials=1", "--accept-changes", "--json", "--quiet")
    assert said.json["conservation"]["planned"] == 9
    assert len((run_dir / "episodes.jsonl").read_bytes().splitlines()) == 9
    assert call("status", run_dir, "--json").json["conservation"]["planned"] == 9
    assert call("verify", run_dir).code == 0
    assert call("trial", run_dir, "screen_only::mockmed::ok::t1").code == 2
    assert call("replay", run_dir, "screen_only::mockmed::ok::t0").code == 0


def test_a_folder_without_a_run_is_left_as_it_was(call: Call, tmp_path: Path) -> None:
    """Resuming what is no run is exit 2 and leaves no file."""
    said = call("resume", tmp_path, "--json")
    assert said.code == 2
    assert "no run here" in said.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []
    assert call("resume", tmp_path / "nowhere").code == 2


def test_an_unknown_retry_is_refused(call: Call, run_dir: Path) -> None:
    """--retry names what it takes."""
    said = call("resume", run_dir, "--retry", "scored")
    assert said.code == 2
    assert "known: unreadable, infrastructure" in said.err


def test_a_journal_without_its_head(call: Call, run_dir: Path) -> None:
    """A journal whose first line is torn is told apart from a damaged one, with what to do."""
    (run_dir / "journal.jsonl").write_bytes(b'{"seq":0,"prev"')
    said = call("resume", run_dir, "--json")
    assert said.code == 2
    assert "start the run anew" in said.json["error"]["message"]
