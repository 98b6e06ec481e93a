"""The worked declarations run as they stand, and their figures are known exactly."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import orchestrator
from orchestrator.audit.team import red_team
from orchestrator.config import load_config
from orchestrator.preparation import prepare
from orchestrator.session import run

CONFIGS = Path(orchestrator.__file__).parent.parent / "configs"
OUTCOMES = {
    "tickets": {
        "screen_only": {
            "close": "success",
            "note_dropped": "silent_wrong_effect",
            "neighbour": "silent_wrong_effect",
            "rejected": "silent_wrong_effect",
            "billed_too": "silent_wrong_effect",
            "error_after_commit": "false_abort",
        },
        "always_halt": {
            "close": "over_halt",
            "note_dropped": "safe_halt",
            "neighbour": "safe_halt",
            "rejected": "safe_halt",
            "billed_too": "safe_halt",
            "error_after_commit": "over_halt",
        },
    },
    "invoices": {
        "screen_only": {
            "file": "success",
            "truncated": "silent_wrong_effect",
            "filed_twice": "silent_wrong_effect",
            "overwrites": "silent_wrong_effect",
            "not_written": "silent_wrong_effect",
        },
        "always_halt": {
            "file": "over_halt",
            "truncated": "safe_halt",
            "filed_twice": "safe_halt",
            "overwrites": "safe_halt",
            "not_written": "safe_halt",
        },
    },
}
PHANTOMS = {"tickets": {"rejected"}, "invoices": {"not_written"}}


def rows_of(name: str, run_dir: Path) -> list[dict[str, Any]]:
    loaded = load_config(
        CONFIGS / f"{name}.toml",
        environ={},
        sets=["engine.kind=inline", "run.trials=2"],
        arms=list(OUTCOMES[name]),
    )
    ended = run(loaded, run_dir=run_dir)
    assert ended.exit_code == 0
    return [json.loads(line) for line in (run_dir / "episodes.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", OUTCOMES)
def test_an_example_comes_out_as_it_is_known_to(name: str, tmp_path: Path) -> None:
    """Every trial of every task has its label, a phantom where nothing was written, and nothing is left behind."""
    root = Path(tempfile.gettempdir())
    before = set(root.glob("topg-*"))
    rows = rows_of(name, tmp_path / "run")
    expected = {(arm, task): outcome for arm, tasks in OUTCOMES[name].items() for task, outcome in tasks.items()}
    assert {(row["arm"], row["task_id"], row["trial"]): row["outcome"] for row in rows} == {
        (arm, task, trial): outcome for (arm, task), outcome in expected.items() for trial in range(2)
    }
    phantoms = {row["task_id"] for row in rows if row["swer_variant"] == "phantom"}
    assert phantoms == PHANTOMS[name]
    assert set(root.glob("topg-*")) <= before


def test_no_attack_on_the_archive_gets_through() -> None:
    """A tree with directories in it is attacked like any other record: all attacks are tried, and none succeeds."""
    (audit,) = red_team(prepare(load_config(CONFIGS / "invoices.toml", environ={}, tasks=["file"])))
    assert [verdict for verdict in audit.verdicts if verdict.result in ("failed", "got_through")] == []
    assert audit.passed
