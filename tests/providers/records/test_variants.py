"""The kinds C1 to C7 as real systems show them, run with the real service: who is deceived by which."""

from __future__ import annotations

from pathlib import Path

import pytest

import orchestrator
from orchestrator import Result

SILENT = "silent_wrong_effect"
PHANTOM = {"screen_only": (SILENT, "phantom"), "effect_verified": ("safe_halt", "none")}
WRONG_WRITE = {"screen_only": (SILENT, "wrong_write"), "effect_verified": ("wrong_action", "none")}
SUCCESS = dict.fromkeys(("screen_only", "effect_verified"), ("success", "none"))
LABELS = {
    "clean_save": SUCCESS,
    "double_click_keyed": SUCCESS,
    "trigger_rewrites": WRONG_WRITE,
    "note_cut": WRONG_WRITE,
    "zone_lost": WRONG_WRITE,
    "weight_rounded": WRONG_WRITE,
    "name_garbled": WRONG_WRITE,
    "accepted_twice": WRONG_WRITE,
    "second_row_late": dict.fromkeys(SUCCESS, (SILENT, "wrong_write")),
    "lands_late": {"screen_only": ("success", "none"), "effect_verified": ("false_abort", "none")},
    "unique_refused": PHANTOM,
    "rolled_back": PHANTOM,
    "edit_overwritten": WRONG_WRITE,
    "soft_deleted": WRONG_WRITE,
    "double_click": WRONG_WRITE,
    "homonyms": WRONG_WRITE,
    "wrong_tenant": WRONG_WRITE,
    "not_persisted": PHANTOM,
    "wrong_type": WRONG_WRITE,
    "letter_queued": WRONG_WRITE,
}


@pytest.fixture(scope="module", params=["sql", "rest", "fhir"])
def played(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Result:
    """A trial of each task by both arms, read by each of the three ways."""
    config = {
        "run": {"trials": 1},
        "engine": {"kind": "inline"},
        "provider": {"use": "providers.records:Records", "pack": "variants", "options": {"read": request.param}},
        "arms": [{"name": "screen_only"}, {"name": "effect_verified"}],
    }
    return orchestrator.run(config, run_dir=tmp_path_factory.mktemp("variants") / "run")


@pytest.mark.parametrize("name", LABELS)
def test_each_variant_deceives_whom_it_should(played: Result, name: str) -> None:
    """Every trial of a task has exactly the label that its fault deserves; a late copy deceives even a verifier."""
    rows = [row for row in played if row["task_id"] == f"variants::{name}"]
    assert len(rows) == 2
    assert {(row["arm"], (row["outcome"], row["swer_variant"])) for row in rows} == set(LABELS[name].items())


def test_every_variant_is_labelled(played: Result) -> None:
    """The table above speaks of every task of the pack, and the pack has every kind."""
    assert {row["task_id"].removeprefix("variants::") for row in played} == set(LABELS)
    assert len({row["category"] for row in played}) == 8


def test_the_report_names_what_was_wrong(played: Result) -> None:
    """The oracle's reason for a lost time zone speaks of the time, and for a rounded weight of the value."""
    reasons = {row["task_id"].removeprefix("variants::"): row["oracle"]["reason"] for row in played}
    assert "seen_at" in reasons["zone_lost"]
    assert "value" in reasons["weight_rounded"]
    assert "'patients'" in reasons["name_garbled"]
    assert "'outbox'" in reasons["letter_queued"]
    assert Path(played.run_dir / "report.html").is_file()
