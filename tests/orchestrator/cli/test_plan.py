"""``plan``: what would run, from the same configuration, with nothing started and nothing made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a_plan_says_what_would_run(call: Call, reference: Path) -> None:
    """Counts, tasks, arms, digests, isolation and place stand in the answer."""
    found = call("plan", "--config", reference, "--json").json
    assert (found["exit"], found["error"]) == (0, None)
    assert (found["trials"], found["repetitions"], len(found["tasks"])) == (180, 10, 9)
    assert found["arms"]["screen_only"]["isolation"] == "in-process"
    assert found["plan_digest"].startswith("sha256:")
    for what in ("pack", "split", "tasks"):
        assert found[f"{what}_digest"].startswith("sha256:")
        assert f"{what} digest {found[f'{what}_digest']}" in call("plan", "--config", reference).out
    assert found["where"].startswith("Ray, started on this machine")
    assert found["resume_needs"] == {"folder": None, "code": [], "environment": []}
    assert call("plan", "--config", reference, "--inline", "--json").json["where"] == "in this process, without Ray"


def test_a_plan_makes_nothing(call: Call, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No directory of runs appears."""
    monkeypatch.chdir(tmp_path)
    said = call("plan", "--config", config)
    assert said.code == 0
    assert "18 trials: 9 tasks x 1 arms x 2" in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_plan_names_what_a_resume_needs(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of one's own, which may print, and environment variables are named; the variables' values are not."""
    (tmp_path / "planned_agent.py").write_text(
        "print('noise')\nclass Agent:\n    def __init__(self, key): ...\n"
        "    def __call__(self, task, environment): ...\n"
    )
    path = tmp_path / "own.toml"
    path.write_text(
        'format = 1\n[[arms]]\nname = "own"\nuse = "planned_agent:Agent"\noptions = { key = "${MY_SECRET}" }\n'
    )
    monkeypatch.setenv("MY_SECRET", "hidden-value")
    said = call("plan", "--config", path, "--json")
    assert said.json["resume_needs"] == {
        "folder": str(tmp_path),
        "code": ["planned_agent:Agent"],
        "environment": ["MY_SECRET"],
    }
    assert "hidden-value" not in said.out + call("plan", "--config", path).out


def test_the_digest_is_that_of_the_run(call: Call, config: Path, run_dir: Path) -> None:
    """What a plan announces is what a run of it writes down."""
    digest = call("plan", "--config", config, "--json").json["plan_digest"]
    assert f'"plan_digest":"{digest}"'.encode() in (run_dir / "journal.jsonl").read_bytes()
