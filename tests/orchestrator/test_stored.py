"""A run directory read again: what of its plan has changed, and what it needs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

import orchestrator
from orchestrator.plan import Plan
from orchestrator.session import make_results
from orchestrator.stored import find_trial, load_run_config, open_stored, part_changes, prepare_again, read_head
from spec.errors import ConfigErrors, InputError, JournalDamaged, JournalHeadless

AGENT = "async def run(task, environment):\n    return {'reported_success': False}\n"


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run whose arm lies in a folder of its own."""
    monkeypatch.delitem(sys.modules, "stored_agent", raising=False)  # another test's module of that name
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "stored_agent.py").write_text(AGENT)
    config = folder / "own.toml"
    config.write_text(
        'format = 1\n[run]\ntrials = 1\n[engine]\nkind = "inline"\n[provider]\ntasks = ["mockmed::ok"]\n'
        '[[arms]]\nname = "own"\nuse = "stored_agent:run"\n'
    )
    orchestrator.run(config, run_dir=tmp_path / "run")
    return tmp_path / "run"


def parts(tasks: Mapping[str, str], arms: Mapping[str, str], provider: str = "p") -> dict[str, Any]:
    return {"tasks": tasks, "arms": arms, "provider": provider}


def test_every_change_of_a_plan_is_named() -> None:
    """Changed, vanished and new tasks and arms, the provider, and nothing where nothing changed."""
    before = parts({"a": "1", "b": "2"}, {"x": "1"})
    assert part_changes(before, before) == []
    assert part_changes(before, parts({"a": "9", "c": "3"}, {"x": "2"}, "q")) == [
        "task a has changed",
        "task b is gone",
        "task c is new",
        "arm x has changed",
        "the provider (its version, its options, its code or the run's seed) has changed",
    ]
    reasons = {"arm x": ["its options", "its code"], "provider": ["the run's seed"]}
    assert part_changes(before, parts(before["tasks"], {"x": "2"}, "q"), reasons) == [
        "arm x has changed (its options, its code)",
        "the provider (the run's seed) has changed",
    ]
    assert part_changes(before, parts({"b": "2", "a": "1"}, {"x": "1"})) == ["the tasks stand in another order"]


def test_a_stored_run_is_read_with_its_own_folder(run_dir: Path) -> None:
    """The arm's module is found in the folder of the configuration, and every trial stands as it ended."""
    stored = open_stored(run_dir, os.environ)
    assert re.fullmatch(r"reference-\d{8}T\d{6}Z-[0-9a-f]{6}", stored.run_id)
    assert stored.prepared.loaded.folder == run_dir.parent / "mine"
    assert stored.history.ledger.conservation()["scored"] == 1


def test_figures_stay_those_of_their_plan(run_dir: Path) -> None:
    """Results made again after the arm's code has changed still name the plan by which its rows were made."""
    (run_dir.parent / "mine" / "stored_agent.py").write_text(AGENT + "# changed\n")
    stored, ended = open_stored(run_dir, os.environ), orchestrator.load(run_dir)
    assert stored.prepared.plan_digest != stored.history.session["plan_digest"]
    made = make_results(run_dir, stored.run_id, stored.prepared, stored.history.ledger, stored.known)
    assert made == ended.summary


def test_a_folder_that_is_gone_is_named_where_it_is_needed(run_dir: Path) -> None:
    """With its folder gone, a run with code of one's own says which code; a run without does not need it."""
    manifest = orjson.loads((run_dir / "manifest.json").read_bytes())
    manifest["config_folder"] = "/gone/for/ever"
    (run_dir / "manifest.json").write_bytes(orjson.dumps(manifest))
    text = (run_dir / "run.toml").read_text()
    (run_dir / "run.toml").write_text(text.replace("stored_agent:run", "vanished_agent:run"))
    with pytest.raises(InputError, match=r"/gone/for/ever.* is gone, and vanished_agent:run"):
        open_stored(run_dir, os.environ)
    (run_dir / "run.toml").write_text(text.replace("stored_agent:run", "screen_only"))
    assert open_stored(run_dir, os.environ).prepared.plan.arms == ["own"]


def test_what_is_wrong_beside_the_folder_is_told_as_it_is(run_dir: Path) -> None:
    """A missing name in a folder that is there stays an error of the configuration."""
    loaded = load_run_config(run_dir, os.environ, sets=("arms.own.use=no_such_arm",))
    with pytest.raises(ConfigErrors, match="no_such_arm"):
        prepare_again(loaded)


def test_a_run_is_not_read_by_other_tasks(run_dir: Path) -> None:
    """Rows are judged again by the tasks that they were judged by, or not at all."""
    text = (run_dir / "run.toml").read_text()
    (run_dir / "run.toml").write_text(text.replace("mockmed::ok", "mockmed::stale"))
    with pytest.raises(InputError, match="task mockmed::ok is gone; task mockmed::stale is new"):
        open_stored(run_dir, os.environ)


def test_a_missing_or_foreign_journal_is_told_apart(run_dir: Path, tmp_path: Path) -> None:
    """No run, a run that never began, a torn head, a damaged head and another format each have their message."""
    journal = run_dir / "journal.jsonl"
    whole = journal.read_bytes()
    head = whole.splitlines(keepends=True)[0]
    with pytest.raises(InputError, match="no run here"):
        read_head(tmp_path)
    journal.write_bytes(head[:40])
    with pytest.raises(JournalHeadless):
        read_head(run_dir)
    journal.write_bytes(whole.replace(b'"run_id":"r', b'"run_id":"R', 1))
    with pytest.raises(JournalDamaged):
        read_head(run_dir)
    journal.unlink()
    with pytest.raises(InputError, match="nothing was started"):
        read_head(run_dir)


def test_a_key_is_found_or_answered_with_the_nearest() -> None:
    """A trial that the plan does not have is refused with one that it has."""
    plan = Plan(["task"], ["arm"], 3)
    assert find_trial(plan, "arm::task::t2") == 2
    with pytest.raises(InputError, match="did you mean 'arm::task::t0'"):
        find_trial(plan, "arm::tusk::t1")
