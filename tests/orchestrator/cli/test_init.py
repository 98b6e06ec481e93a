"""``init``: what it writes runs as it stands."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


def test_what_init_writes_runs(
    call: Call, spawn: Callable[..., subprocess.Popen[str]], finish: Callable[..., Any], tmp_path: Path
) -> None:
    """The two files make a run whose agent breaks no rule and does better than the banner."""
    said = call("init", tmp_path / "new", "--json")
    assert said.json["files"] == [str(tmp_path / "new" / name) for name in ("agent.toml", "my_agent.py")]
    done = finish(spawn(["--config", "agent.toml", "--json", "--quiet"], tmp_path / "new"))
    assert done.code == 0, done.err
    arms = done.json["arms"]
    assert arms["my_agent"]["n_scored"] == arms["my_agent"]["n_planned"] > 0
    assert arms["my_agent"]["task_success"] > arms["screen_only"]["task_success"]
    rows = (Path(done.json["run_dir"]) / "episodes.jsonl").read_text()
    assert '"arm_fault":null' in rows
    assert rows.count('"arm_fault":null') == rows.count('"arm_fault"')


def test_init_overwrites_nothing(call: Call, tmp_path: Path) -> None:
    """Where one of the files stands already, neither is written."""
    (tmp_path / "my_agent.py").write_text("mine")
    said = call("init", tmp_path)
    assert said.code == 2
    assert "my_agent.py: exists already" in said.err
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("my_agent.py", "mine")]


def test_a_declared_record_that_init_writes_runs(
    call: Call, spawn: Callable[..., subprocess.Popen[str]], finish: Callable[..., Any], tmp_path: Path
) -> None:
    """Its control is a success, and its fault is silent to the arm that believes the banner."""
    said = call("init", tmp_path / "new", "--record", "--json")
    assert said.json["files"][0] == str(tmp_path / "new" / "record.toml")
    done = finish(spawn(["--config", "record.toml", "--json", "--quiet"], tmp_path / "new"))
    assert done.code == 0, done.err
    figures = done.json["arms"]["screen_only"]
    assert (figures["n_scored"], figures["swer"], figures["task_success"]) == (6, 0.5, 0.5)
