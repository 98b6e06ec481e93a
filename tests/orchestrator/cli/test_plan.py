"""``plan``: what would run, from the same configuration, with nothing started and nothing made."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]
CONFIGS = Path(__file__).parents[3] / "configs"


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
    assert found["resume_needs"] == {"folder": None, "code": [], "provider_files": False, "environment": []}
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
        "provider_files": False,
        "environment": ["MY_SECRET"],
    }
    assert "hidden-value" not in said.out + call("plan", "--config", path).out


def test_the_digest_is_that_of_the_run(call: Call, config: Path, run_dir: Path) -> None:
    """What a plan announces is what a run of it writes down."""
    digest = call("plan", "--config", config, "--json").json["plan_digest"]
    assert f'"plan_digest":"{digest}"'.encode() in (run_dir / "journal.jsonl").read_bytes()


def test_a_plan_names_a_declaration_beside_own_code(call: Call, tmp_path: Path) -> None:
    """Where an agent and a declared record both lie in the configuration's folder, a resume is told to need both."""
    shutil.copytree(CONFIGS / "invoices", tmp_path / "invoices")
    (tmp_path / "filing_agent.py").write_text("def run(task, environment): ...\n")
    text = (CONFIGS / "invoices.toml").read_text().replace('use = "always_halt"', 'use = "filing_agent:run"')
    (tmp_path / "own.toml").write_text(text)
    said = call("plan", "--config", tmp_path / "own.toml").out
    assert f"filing_agent:run, the files of the provider unchanged in {tmp_path}" in said


def test_a_plan_of_a_resume_says_what_it_would_do(call: Call, run_dir: Path) -> None:
    """What is kept, owed and invalidated, arm by arm, with what changed; not a byte of the run is touched."""
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    found = call("plan", "--resume", run_dir, "--set", "arms.screen_only.deadline_s=9", "--json").json
    assert (found["exit"], found["needs_accept_changes"], found["plan_digest"][:7]) == (0, True, "sha256:")
    assert (found["trials"], found["kept"], found["owed"], found["invalidated"]) == (18, 0, 18, 18)
    assert found["arms"]["screen_only"]["examples"][0] == "screen_only::mockmed::ok::t0"
    assert [change["key"] for change in found["changes"]] == ["arms.screen_only.deadline_s", "parts.arms.screen_only"]
    said = call("plan", "--resume", run_dir, "--set", "arms.screen_only.deadline_s=9")
    assert "changed: arm screen_only has changed (its deadline)" in said.out
    assert "of these 18 are other trials now" in said.out
    assert "needs --accept-changes" in said.out
    said = call("plan", "--resume", run_dir, "--set", "run.trials=3")
    assert "27 trials are planned: 18 are kept, 9 are owed" in said.out
    assert "free to change: run.trials = 3" in said.out
    assert "18 ended trials" not in said.out
    assert "9 ended trials are no longer planned" in call("plan", "--resume", run_dir, "--set", "run.trials=1").out
    assert {path: path.read_bytes() for path in run_dir.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "either --config FILE or --resume RUN_DIR"),
        (("--config", "x.toml", "--resume", "x"), "either --config FILE or --resume RUN_DIR"),
        (("--resume", "x", "--limit", "1"), "--resume takes the run's own configuration"),
        (("--config", "x.toml", "--retry", "unreadable"), "--retry goes with --resume"),
        (("--resume", "nowhere"), "there is no run here"),
    ],
)
def test_what_does_not_go_together_is_refused(call: Call, words: tuple[str, ...], text: str) -> None:
    """A configuration or a run, each with its own options; the message says which."""
    said = call("plan", *words)
    assert said.code == 2
    assert text in said.err
