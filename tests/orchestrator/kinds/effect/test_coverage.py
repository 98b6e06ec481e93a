"""The ladder table: which task ended how with which arm, and the sums below it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import pytest

from orchestrator.kinds.effect import coverage as module
from orchestrator.kinds.effect.coverage import TITLE, coverage_sections

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun


def test_every_task_stands_beside_every_arm(anchor: FinishedRun, tmp_path: Path) -> None:
    """The anchor's table has its nine tasks in order, and each cell says how often which label came out."""
    (section,) = coverage_sections(anchor.summary(tmp_path)["arms"], tmp_path / "rows.jsonl")
    assert section.title == TITLE
    assert section.columns == ("task", "screen_only", "effect_verified")
    assert [row[0] for row in section.rows] == list(dict.fromkeys(row["task_id"] for row in anchor.rows()))
    assert section.rows[1] == ("mockmed::partial", "10 silent_wrong_effect (wrong_write)", "10 wrong_action")


def test_the_sums_count_what_was_missed_and_what_was_given_up(anchor: FinishedRun, tmp_path: Path) -> None:
    """An arm's line has its silent wrong effects, the caught ones, the share that was missed and the false aborts."""
    (section,) = coverage_sections(anchor.summary(tmp_path)["arms"], tmp_path / "rows.jsonl")
    assert section.paragraphs[0] == (
        "screen_only: silently wrong 50/90; of 60 wrong or missing effects 10 caught, 83.3% undetected; "
        "false aborts 10 of 30 correct effects."
    )
    assert "0/90; of 60 wrong or missing effects 60 caught, 0.0% undetected" in section.paragraphs[1]


def test_the_limits_are_said(anchor: FinishedRun, tmp_path: Path) -> None:
    """Where all trials of a task end alike it is called a coverage matrix, and where they do not it is not."""
    summary = anchor.summary(tmp_path)
    rows = tmp_path / "rows.jsonl"
    (alike,) = coverage_sections(summary["arms"], rows)
    assert "within the record that the oracle reads" in alike.paragraphs[-2]
    assert "coverage matrix" in alike.paragraphs[-1]
    first = orjson.loads(rows.read_bytes().splitlines()[0])
    first["outcome"] = "false_abort"
    rows.write_bytes(rows.read_bytes() + orjson.dumps(first) + b"\n")
    (mixed,) = coverage_sections(summary["arms"], rows)
    assert "ended differently" in mixed.paragraphs[-1]


def test_a_large_pack_has_no_table(anchor: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many tasks, and beyond so large a file, there is none."""
    arms = anchor.summary(tmp_path)["arms"]
    monkeypatch.setattr(module, "ROWS_BYTES_MAX", 10)
    assert coverage_sections(arms, tmp_path / "rows.jsonl") == []
    monkeypatch.undo()
    monkeypatch.setattr(module, "TASKS_MAX", 8)
    assert coverage_sections(arms, tmp_path / "rows.jsonl") == []
