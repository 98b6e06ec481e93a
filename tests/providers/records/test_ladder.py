"""The ladder, run as it ships: real service, real database, real oracle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import orchestrator
from orchestrator import Result
from orchestrator.config import load_config

CONFIG = Path(orchestrator.__file__).parent.parent / "configs" / "ladder.toml"
ARMS = ("screen", "effect_rest", "effect_full")


@pytest.fixture(scope="module")
def on_postgres(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two trials of each task on a PostgreSQL server that is started for it."""
    sets = ("engine.kind=inline", "run.trials=2")
    loaded = load_config(CONFIG.with_name("ladder-postgres.toml"), environ={}, sets=sets)
    return orchestrator.run(loaded, run_dir=tmp_path_factory.mktemp("postgres") / "run")


@pytest.fixture(scope="module")
def ladder(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One run of the shipped configuration, in this process and a service of its own."""
    loaded = load_config(CONFIG, environ={}, sets=("engine.kind=inline",))
    return orchestrator.run(loaded, run_dir=tmp_path_factory.mktemp("ladder") / "run")


def test_the_published_figures_come_out(ladder: Result) -> None:
    """Silently wrong in 54, 9 and 0 of 90; 18, 63 and 72 wrong effects caught; 9 of 18 correct ones aborted."""
    assert ladder.conservation["scored"] == 270
    found = {}
    for name in ARMS:
        counts = ladder.arms[name]["outcome_counts"]
        wrong = 90 - counts["success"] - counts["false_abort"]
        found[name] = (counts["silent_wrong_effect"], wrong - counts["silent_wrong_effect"], counts["false_abort"])
        assert wrong == 72
    assert found == {"screen": (54, 18, 9), "effect_rest": (9, 63, 9), "effect_full": (0, 72, 9)}


def test_postgres_gives_the_same(ladder: Result, on_postgres: Result) -> None:
    """On PostgreSQL every trial ends as on SQLite, and 12, 2 and 0 of 20 are silently wrong."""
    outcomes = {(row["arm"], row["task_id"], row["trial"]): row["outcome"] for row in ladder}
    found = {(row["arm"], row["task_id"], row["trial"]): row["outcome"] for row in on_postgres}
    assert len(found) == on_postgres.conservation["scored"] == 60
    assert found == {key: outcomes[key] for key in found}
    wrong = {name: on_postgres.arms[name]["outcome_counts"]["silent_wrong_effect"] for name in ARMS}
    assert wrong == {"screen": 12, "effect_rest": 2, "effect_full": 0}


def test_each_rung_is_deceived_by_its_own_scenarios(ladder: Result) -> None:
    """The banner hides six scenarios, the encounters hide one, and the database none."""
    wrong: dict[str, Counter[str]] = {name: Counter() for name in ARMS}
    for row in ladder:
        if row["outcome"] == "silent_wrong_effect":
            wrong[row["arm"]][row["task_id"].removeprefix("ladder::")] += 1
    hidden = ("no_persist", "partial", "duplicate", "wrong_record", "stale", "collateral_unaudited")
    assert wrong["screen"] == dict.fromkeys(hidden, 9)
    assert wrong["effect_rest"] == {"collateral_unaudited": 9}
    assert wrong["effect_full"] == {}


def test_the_report_prints_the_ladder_with_its_limits(ladder: Result) -> None:
    """Three lines sum it up, and two say what they do not mean."""
    text = (ladder.run_dir / "report.md").read_text(encoding="utf-8")
    for line in (
        "screen: silently wrong 54/90; of 72 wrong or missing effects 18 caught, 75.0% undetected; false aborts 9",
        "effect_rest: silently wrong 9/90; of 72 wrong or missing effects 63 caught, 12.5% undetected; false aborts 9",
        "effect_full: silently wrong 0/90; of 72 wrong or missing effects 72 caught, 0.0% undetected; false aborts 9",
        "within the record that the oracle reads",
        "coverage matrix of cases and not a rate in any population",
    ):
        assert line in text
