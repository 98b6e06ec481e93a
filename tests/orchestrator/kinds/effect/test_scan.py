from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from orchestrator.kinds.effect.scan import scan_episodes
from orchestrator.metrics import PairedTask
from spec.errors import InputError
from spec.outcome import Outcome

if TYPE_CHECKING:
    from tests.orchestrator.conftest import FinishedRun

ARMS = ["screen_only", "effect_verified"]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def test_rows_are_counted_by_arm_task_and_ending(anchor: FinishedRun, tmp_path: Path) -> None:
    """Each task of the anchor ends alike in all its trials: one group an arm and task, ten rows each."""
    scan = scan_episodes(anchor.write_episodes(tmp_path / "r"), ARMS, anchor.plan.task_ids, paired=False)
    assert len(scan.groups) == 18
    assert {group.rows for group in scan.groups} == {10}
    assert scan.pairs == {}


def test_shared_trials_are_paired(anchor: FinishedRun, tmp_path: Path) -> None:
    """Of every task the trials of both arms are joined, and the discordant ones counted for the arm that erred."""
    scan = scan_episodes(anchor.write_episodes(tmp_path / "r"), ARMS, anchor.plan.task_ids, paired=True)
    pairs = scan.pairs["screen_only", "effect_verified"]
    assert list(scan.pairs) == [("screen_only", "effect_verified")]
    assert pairs["mockmed::partial"] == PairedTask(10, 10, 0)
    assert pairs["mockmed::ok"] == PairedTask(10, 0, 0)


def test_the_order_of_rows_changes_nothing(anchor: FinishedRun, tmp_path: Path) -> None:
    """Rows with amounts that floats cannot add exactly give one result in any order."""
    rows = [row | {"cost_usd": 0.1 * place, "latency_s": 1e-3 / (place + 1)} for place, row in enumerate(anchor.rows())]
    first = scan_episodes(write(tmp_path / "a", rows), ARMS, anchor.plan.task_ids, paired=True)
    random.Random(5).shuffle(rows)
    assert scan_episodes(write(tmp_path / "b", rows), ARMS, anchor.plan.task_ids, paired=True) == first


def test_unknown_usage_is_counted(anchor: FinishedRun, tmp_path: Path) -> None:
    """Rows that name unknown usage are counted; rows of others, without that list, are taken as known."""
    rows = [anchor.row(0) | {"env_fingerprint": mark} for mark in ({"usage_unknown": ["cost_usd"]}, {}, {"x": [1, {}]})]
    scan = scan_episodes(write(tmp_path / "r", rows), ARMS, anchor.plan.task_ids, paired=False)
    assert [(group.rows, group.usage_unknown, group.outcome) for group in scan.groups] == [(3, 1, Outcome.SUCCESS)]


def test_an_empty_file_has_no_groups(anchor: FinishedRun, tmp_path: Path) -> None:
    """A run in which nothing was scored is counted like any other."""
    scan = scan_episodes(write(tmp_path / "r", []), ARMS, anchor.plan.task_ids, paired=True)
    assert (list(scan.groups), dict(scan.pairs)) == ([], {})


@pytest.mark.parametrize("name", ["a*b", "a?b", "[ab]", "a'b", 'a"b', "a b;"])
def test_a_path_is_never_a_pattern(anchor: FinishedRun, tmp_path: Path, name: str) -> None:
    """A directory whose name looks like a pattern or holds quotes is read, and nothing beside it."""
    (tmp_path / name).mkdir()
    (tmp_path / "axb").mkdir()
    write(tmp_path / "axb" / "r", [anchor.row(0)] * 5)
    scan = scan_episodes(write(tmp_path / name / "r", [anchor.row(0)]), ARMS, anchor.plan.task_ids, paired=False)
    assert sum(group.rows for group in scan.groups) == 1


@pytest.mark.parametrize(
    "change", [{"arm": "other"}, {"task_id": "other"}, {"outcome": "fine"}, {"cost_usd": "much"}, {"latency_s": None}]
)
def test_what_is_no_row_of_the_plan_is_refused(anchor: FinishedRun, tmp_path: Path, change: dict[str, Any]) -> None:
    """A name or label outside the closed sets is an error, never a group of its own."""
    with pytest.raises(InputError, match="not made of rows of this plan"):
        scan_episodes(write(tmp_path / "r", [anchor.row(0) | change]), ARMS, anchor.plan.task_ids, paired=False)


def test_half_a_line_is_refused(anchor: FinishedRun, tmp_path: Path) -> None:
    """A file that was cut in the middle of a row is an error, never a smaller count."""
    path = anchor.write_episodes(tmp_path / "r")
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(InputError, match="not made of rows of this plan"):
        scan_episodes(path, ARMS, anchor.plan.task_ids, paired=False)
