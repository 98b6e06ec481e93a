from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from orchestrator.kinds.base import Section
from orchestrator.kinds.effect import sections as module

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun, MakeRun


def sections_of(run: FinishedRun, folder: Path) -> dict[str, Section]:
    found = run.driver.sections(run.summary(folder), folder / "rows.jsonl")
    return {section.title: section for section in found}


def test_the_headline_pair_stands_together(anchor: FinishedRun, tmp_path: Path) -> None:
    """Wherever a table has SWER as a column, over-halt is a column too."""
    sections = sections_of(anchor, tmp_path)
    assert sections["Headline"].rows[0][1:3] == (
        "50/90 = 0.5556 (0.4527 to 0.6538)",
        "0/90 = 0.0000 (0.0000 to 0.0409)",
    )
    with_swer = [one for one in sections.values() if any("SWER" in column for column in one.columns)]
    assert len(with_swer) == 4
    assert all(any("over-halt" in column for column in one.columns) for one in with_swer)


def test_every_row_of_a_table_has_a_cell_for_each_column(anchor: FinishedRun, tmp_path: Path) -> None:
    """Tables are rectangular."""
    for section in sections_of(anchor, tmp_path).values():
        assert {len(row) for row in section.rows} <= {len(section.columns)}


def test_every_silent_wrong_effect_is_listed_with_what_was_said_and_read(anchor: FinishedRun, tmp_path: Path) -> None:
    """The anchor's fifty silent wrong effects are all listed, each with its trial."""
    section = sections_of(anchor, tmp_path)["Silent wrong effects"]
    wrong = [row["episode_id"] for row in anchor.rows() if row["outcome"] == "silent_wrong_effect"]
    assert [row[0] for row in section.rows] == wrong
    assert len(wrong) == 50
    assert section.rows[0][1:] == ("wrong_write", "reported success", "read", "1 / 1")
    assert section.paragraphs == ("50 trials reported success while the record says otherwise.",)


def test_a_long_list_is_cut_and_the_rest_is_counted(
    anchor: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most so many of one arm and task, and so many in all, are listed; the rest is counted."""
    monkeypatch.setattr(module, "LISTED_PER_TASK_MAX", 3)
    section = sections_of(anchor, tmp_path)["Silent wrong effects"]
    assert len(section.rows) == 15
    assert "35 more are not listed here" in section.paragraphs[0]
    monkeypatch.setattr(module, "LISTED_MAX", 4)
    assert len(sections_of(anchor, tmp_path)["Silent wrong effects"].rows) == 4


def test_an_honest_message_about_silent_wrong_effects_is_no_silent_wrong_effect(
    anchor: FinishedRun, tmp_path: Path
) -> None:
    """A row is listed for its outcome, not because an arm wrote the word."""
    summary = anchor.summary(tmp_path)
    (tmp_path / "rows.jsonl").write_bytes(orjson.dumps(anchor.row(0, message="no silent_wrong_effect here")) + b"\n")
    found = anchor.driver.sections(summary, tmp_path / "rows.jsonl")
    assert found[-1].rows == []


def test_unknown_usage_is_said_beside_the_sum(anchor: FinishedRun, tmp_path: Path) -> None:
    """A sum over unknown usage is called a lower bound, with the number of trials it lacks."""
    summary: dict[str, Any] = anchor.summary(tmp_path)
    summary["arms"]["screen_only"].update(total_cost_usd=1.5, n_usage_unknown=4)
    effort = next(
        one for one in anchor.driver.sections(summary, tmp_path / "rows.jsonl") if one.title.startswith("Cost")
    )
    assert effort.rows[0][3] == "at least 1.500000 (usage of 4 trials is unknown)"
    assert [row[1] for row in effort.rows[:3]] == ["all", "control", "C1_partial_save"]


def test_reasons_for_what_is_missing_are_printed(make_run: MakeRun, tmp_path: Path) -> None:
    """With two trials a task, the report says why pass^4 and the comparison are missing, once for the pair."""
    sections = sections_of(make_run(trials=2), tmp_path)
    assert any("k = 4" in paragraph for paragraph in sections["Reliability (pass^k)"].paragraphs)
    reasons = [one for one in sections["Comparisons"].paragraphs if "are not compared" in one]
    assert len(reasons) == 1
    assert sections["Comparisons"].rows == []


def test_a_single_arm_is_compared_with_nothing(make_run: MakeRun, tmp_path: Path) -> None:
    """One arm gives no comparison, and the report says that there is only one."""
    assert "There is one arm only." in sections_of(make_run(("screen_only",)), tmp_path)["Comparisons"].paragraphs


def test_nothing_scored_is_said_in_words(make_run: MakeRun, tmp_path: Path) -> None:
    """A run without a scored trial has a report without a number that was never measured."""
    sections = sections_of(make_run(("screen_only",), 1, dict.fromkeys(range(9), "owed")), tmp_path)
    assert sections["Headline"].rows[0][1:] == ("0/0, no rate",) * 4 + ("none",)
    assert sections["Silent wrong effects"].rows == []
