"""Arms that end or block their worker are found and counted apart; whoever shares a worker with them is scored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.ray, pytest.mark.timeout(150)]

ROOT: Final = Path(__file__).parents[2]
KILLERS: Final = Path(__file__).parent / "thirdparty" / "killers.toml"


def test_killers_are_found_and_cost_nobody_else_a_verdict(tmp_path: Path) -> None:
    """One arm ends its process, one blocks it for ever: both are unreadable as killed_worker, all others are scored."""
    run_dir = tmp_path / "run"
    words = ["run", "--config", str(KILLERS), "--run-dir", str(run_dir), "--json", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "orchestrator", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout)
    assert (answer["exit"], done.returncode) == (0, 0)
    assert answer["conservation"] == {
        "planned": 9,
        "scored": 7,
        "unreadable": 2,
        "infrastructure": 0,
        "cancelled": 0,
        "owed": 0,
    }
    lines = [json.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines()]
    apart = {line["key"]: line["cause"] for line in lines if line["type"] == "unreadable"}
    assert apart == {"killer::mockmed::ok::t1": "killed_worker", "blocker::mockmed::ok::t0": "killed_worker"}
    assert {line["cause"] for line in lines if line["type"] == "failed"} == {"worker_lost"}
