"""The public manifest tells everything of the dev split and nothing of the test split."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from providers.mockmed import MockMed
from spec.contract import contract_hash
from spec.task import task_digest

WITHHELD = ("title", "goal", "axes", "contract_hash", "wiring", "payload")


def manifest_of(pack: str, split: str) -> dict[str, Any]:
    parsed: dict[str, Any] = orjson.loads(orjson.dumps(MockMed(pack=pack, split=split).manifest()))
    return parsed


def test_its_head() -> None:
    """Name, version, pack and split stand at the top, and every chosen task below."""
    manifest = manifest_of("anchor", "dev")
    assert [manifest[key] for key in ("name", "version", "pack", "split")] == ["mockmed", "1.0.0", "anchor", "dev"]
    assert [entry["task_id"] for entry in manifest["tasks"]] == [task.task_id for task in MockMed().tasks()]


def test_dev_tasks_are_told_in_full() -> None:
    """Digest, goal, axes, contract hash and the payload of trial 0 of a dev task are those of the task."""
    provider = MockMed(pack="full", split="dev")
    for entry, task in zip(manifest_of("full", "dev")["tasks"], provider.tasks(), strict=True):
        assert entry["digest"] == task_digest(task)
        assert entry["goal"] == task.goal
        assert entry["contract_hash"] == contract_hash(task.contract[0])
        assert entry["payload"] == provider.payload(task, 0, 0).params
        assert entry["axes"]["effect_declared"] is task.effect_declared
        assert entry["wiring"]["boundary"]


def test_test_tasks_are_withheld() -> None:
    """Of a test task only id, category, split and digest are there; no payload of it stands anywhere in the text."""
    provider = MockMed(pack="full", split="all")
    manifest = manifest_of("full", "all")
    text = orjson.dumps(manifest).decode()
    withheld = [task for task in provider.tasks() if task.split.value == "test"]
    assert len(withheld) == 6
    for task in withheld:
        entry = next(entry for entry in manifest["tasks"] if entry["task_id"] == task.task_id)
        assert entry["category"] == task.category
        assert entry["digest"] == task_digest(task)
        assert [entry[field] for field in WITHHELD] == [None] * len(WITHHELD)
        for trial in range(100):
            for value in provider.payload(task, trial, 0).params.values():
                assert str(value) not in text


def test_only_the_goal_of_dev_tasks_is_there() -> None:
    """A manifest of the test split alone holds no goal at all."""
    text = orjson.dumps(manifest_of("full", "test")).decode()
    assert "Talvik" not in text
    assert "note" not in text


@pytest.mark.parametrize("pack", ["anchor", "full"])
def test_the_pack_digest_is_of_the_whole_pack(pack: str) -> None:
    """The pack's digest does not depend on the split, the split's digest does."""
    dev, whole = manifest_of(pack, "dev"), manifest_of(pack, "all")
    assert dev["pack_digest"] == whole["pack_digest"] == whole["split_digest"]
    assert (dev["split_digest"] == whole["split_digest"]) is (pack == "anchor")
    assert dev["pack_digest"] != manifest_of("full" if pack == "anchor" else "anchor", "dev")["pack_digest"]
