"""A trial again: the same row where nothing changed, and a difference where something did."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import orchestrator
from orchestrator.replay import replay
from spec.errors import InputError

TABLES: Mapping[str, Any] = {
    "run": {"trials": 3, "attempts": 1},
    "engine": {"kind": "inline"},
    "provider": {"tasks": ["mockmed::ok", "mockmed::partial"]},
    "arms": [{"name": "screen_only"}, {"name": "always_halt"}],
}


def test_every_trial_is_as_recorded(tmp_path: Path) -> None:
    """Each of the run's trials, replayed, gives what its digest covers; the run is left as it was."""
    result = orchestrator.run(TABLES, run_dir=tmp_path / "run")
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    for row in result.rows[::4]:
        replayed = replay(tmp_path / "run", row["episode_id"], {})
        assert replayed.equal is True
        assert replayed.changed == ()
        assert replayed.row is not None
        assert replayed.row["seed"] == row["seed"]
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


def test_another_answer_is_a_difference(tmp_path: Path) -> None:
    """An arm that decides otherwise the second time is found out, though its code is the same."""
    mood = {"claims": True}

    async def moody(task: object, environment: object) -> Mapping[str, object]:
        return {"reported_success": mood["claims"]}

    orchestrator.evaluate(moody, trials=1, run_dir=tmp_path / "run")
    key = "moody::mockmed::ok::t0"
    assert replay(tmp_path / "run", key, {}).equal is True
    mood["claims"] = False
    replayed = replay(tmp_path / "run", key, {})
    assert replayed.equal is False
    assert replayed.recorded is not None
    assert replayed.found != replayed.recorded


def test_a_trial_that_never_ran_has_nothing_to_compare(tmp_path: Path) -> None:
    """An owed trial is replayed all the same; whether it is equal is unknown."""
    orchestrator.run(TABLES, run_dir=tmp_path / "run")
    path = tmp_path / "run" / "run.toml"
    path.write_text(path.read_text().replace("trials = 3", "trials = 4"))
    replayed = replay(tmp_path / "run", "screen_only::mockmed::ok::t3", {})
    assert (replayed.equal, replayed.recorded) == (None, None)
    assert replayed.row is not None


BROKEN = """\
from providers.mockmed import MockMed

class Broken(MockMed):
    async def open(self, task, payload):
        raise OSError("no fixture today")
"""


def test_a_trial_without_a_verdict_is_compared_by_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infrastructure before and after is as recorded, and there is no row."""
    (tmp_path / "broken_provider.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    tables = {**TABLES, "provider": {"use": "broken_provider:Broken", "tasks": ["mockmed::ok"]}}
    orchestrator.run(tables, run_dir=tmp_path / "run")
    replayed = replay(tmp_path / "run", "screen_only::mockmed::ok::t0", {})
    assert (replayed.equal, replayed.row) == (True, None)
    assert replayed.found == {"episode_id": "screen_only::mockmed::ok::t0", "type": "infrastructure"}


def test_no_such_trial(tmp_path: Path) -> None:
    """A key outside the plan is refused."""
    orchestrator.run(TABLES, run_dir=tmp_path / "run")
    with pytest.raises(InputError, match="no trial of this run"):
        replay(tmp_path / "run", "screen_only::mockmed::ok::t9", {})
