"""Whole runs in one process: the published figures exactly, whatever the schedule, and after a cut of the journal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.config import load_config
from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import recover
from orchestrator.resume import resume
from orchestrator.runlock import RunLock
from orchestrator.session import Ended, run
from orchestrator.watcher import Silence

CONFIGS: Final = Path(__file__).parents[3] / "configs"
RunInline = Callable[..., Ended]

ANCHOR: Final = {
    "screen_only": {
        "swer": (50, 90),
        "swer_wrong_write": (40, 90),
        "swer_phantom": (10, 90),
        "over_halt": (0, 90),
        "task_success": (20, 90),
        "screen_success": (70, 90),
        "outcomes": {"success": 20, "silent_wrong_effect": 50, "false_abort": 10, "safe_halt": 10},
        "gap": 0.5556,
        "ci": (0.4527192645595967, 0.6538434437110336),
    },
    "effect_verified": {
        "swer": (0, 90),
        "swer_wrong_write": (0, 90),
        "swer_phantom": (0, 90),
        "over_halt": (0, 90),
        "task_success": (30, 90),
        "screen_success": (30, 90),
        "outcomes": {"success": 30, "wrong_action": 40, "safe_halt": 20},
        "gap": 0.0,
        "ci": (0.0, 0.04093562556432678),
    },
}

FULL: Final = {
    "screen_only": {"success": 2, "silent_wrong_effect": 16, "false_abort": 1, "safe_halt": 1},
    "effect_verified": {"success": 3, "wrong_action": 14, "over_halt": 1, "safe_halt": 2},
    "always_halt": {"over_halt": 8, "safe_halt": 12},
    "retry_on_error": {"success": 2, "silent_wrong_effect": 16, "wrong_action": 1, "safe_halt": 1},
}


@pytest.fixture(scope="module")
def run_inline(tmp_path_factory: pytest.TempPathFactory) -> RunInline:
    """Runs a shipped configuration in this process, with keys set."""

    def run_it(name: str, *sets: str) -> Ended:
        loaded = load_config(CONFIGS / name, environ={}, sets=["engine.kind=inline", *sets])
        return run(loaded, run_dir=tmp_path_factory.mktemp("runs") / "run")

    return run_it


@pytest.fixture(scope="module")
def reference(run_inline: RunInline) -> Ended:
    """The reference run."""
    return run_inline("reference.toml")


def outcomes(arm: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in arm["outcome_counts"].items() if count}


@pytest.mark.parametrize("name", ANCHOR)
def test_the_reference_run_gives_the_published_figures(reference: Ended, name: str) -> None:
    """Counts, gap and interval are those of the published table, digit for digit."""
    arm, published = reference.summary["arms"][name], ANCHOR[name]
    for rate in ("swer", "swer_wrong_write", "swer_phantom", "over_halt", "task_success", "screen_success"):
        assert (arm[rate]["numerator"], arm[rate]["denominator"]) == published[rate], rate
    assert outcomes(arm) == published["outcomes"]
    assert round(arm["success_effect_gap"], 4) == published["gap"]
    assert (arm["swer"]["ci"]["lo"], arm["swer"]["ci"]["hi"]) == published["ci"]


def test_nothing_is_owed_after_the_reference_run(reference: Ended) -> None:
    """All 180 trials are scored, the session ended as it should, and the row file has a line for each."""
    assert (reference.exit_code, reference.lost) == (0, "")
    assert reference.summary["conservation"] == {
        "planned": 180,
        "scored": 180,
        "unreadable": 0,
        "infrastructure": 0,
        "cancelled": 0,
        "owed": 0,
    }
    assert len((reference.run_dir / "episodes.jsonl").read_bytes().splitlines()) == 180
    assert recover(reference.run_dir / JOURNAL_NAME, lambda line: None).ended


def test_one_trial_of_each_task_gives_the_table_of_the_full_pack(run_inline: RunInline) -> None:
    """Twenty tasks by four arms come out as the pack says, and so do the two kinds of silent wrong effects."""
    arms = run_inline("full.toml", "run.trials=1").summary["arms"]
    assert {name: outcomes(arm) for name, arm in arms.items()} == FULL
    for name in ("screen_only", "retry_on_error"):
        assert (arms[name]["swer_wrong_write"]["numerator"], arms[name]["swer_phantom"]["numerator"]) == (14, 2)


def test_the_schedule_changes_nothing(run_inline: RunInline) -> None:
    """However many arms run at once and however long leases are, the digest of the results is the same."""
    digests = {
        run_inline(
            "full.toml",
            "run.trials=1",
            f"engine.in_flight={in_flight}",
            f"engine.lease_max={lease_max}",
            "limits.group_commit_ms=1",
        ).summary["results_digest"]
        for in_flight in (1, 7, 256)
        for lease_max in (1, 256)
    }
    assert len(digests) == 1


@pytest.mark.parametrize("part", [0.02, 0.37, 0.5, 0.81, 0.999])
def test_a_run_whose_journal_was_cut_comes_to_the_same_results(reference: Ended, tmp_path: Path, part: float) -> None:
    """Whatever a crash leaves of the journal, resuming runs what is missing and nothing else."""
    folder = tmp_path / "run"
    shutil.copytree(reference.run_dir, folder)
    journal = folder / JOURNAL_NAME
    data = journal.read_bytes()
    head_bytes = data.index(b"\n") + 1
    cut = head_bytes + int(part * (len(data) - head_bytes))
    journal.write_bytes(data[:cut])
    kept = data[: data.rfind(b"\n", 0, cut) + 1].count(b'"type":"scored"')
    with RunLock.acquire(folder) as lock:
        ended = resume(lock, environ={}, watcher=Silence())
    assert ended.exit_code == 0
    assert ended.summary["results_digest"] == reference.summary["results_digest"]
    types = [orjson.loads(line)["type"] for line in journal.read_bytes().splitlines()]
    assert types[: types.index("resume")].count("scored") == kept
    assert types.count("scored") == 180
