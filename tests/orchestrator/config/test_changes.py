from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.config import Change, LoadedConfig, RunConfig, classify_changes, plan_config_part
from spec.canonical import content_digest

Load = Callable[..., LoadedConfig]

TEXT = """[provider]
options = {flag = 1}
[[arms]]
name = "a"
options = {key = "${KEY}"}
[[arms]]
name = "b"
"""

FREE = {
    "run": {"trials": "11", "drain_s": "1"},
    "engine": {"kind": "inline", "address": "h:1", "workers": "3", "in_flight": "3", "lease_max": "3"},
    "oracle": {"actors": "3", "read_attempts": "3", "read_deadline_s": "3"},
    "arms.b": {"in_flight": "3"},
    "limits": {
        "open_s": "3",
        "baseline_s": "3",
        "close_s": "3",
        "stall_report_s": "3",
        "heartbeat_s": "3",
        "worker_failures_max": "4",
        "tail_bytes_max": "3",
        "group_commit_ms": "3",
        "disk_free_min_bytes": "3",
    },
}
GATED = {
    "run": {"trials": "9", "name": "other", "seed": "1", "attempts": "4", "dir": "elsewhere", "kind": "a:b"},
    "engine": {"deadline_s": "3"},
    "provider": {"use": "c", "pack": "full", "split": "all", "tasks": '["x"]', "options": "{flag = true}"},
    "arms.b": {"use": "c", "isolation": "in-process", "deadline_s": "3", "options": "{a = 1}"},
    "limits": {"idle_s": "3", "report_bytes_max": "3333"},
    "artifacts": {"url": "memory://x"},
}


def flat(tables: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(f"{table}.{name}", value) for table, keys in tables.items() for name, value in keys.items()]


def both(load: Load, *sets: str) -> tuple[RunConfig, RunConfig]:
    old = load(TEXT, environ={"KEY": "old"}).config
    return old, load(TEXT, environ={"KEY": "new"}, sets=sets).config


@pytest.mark.parametrize(("key", "value"), flat(FREE))
def test_a_free_key_changes_no_digest(load: Load, key: str, value: str) -> None:
    """How fast, how patiently and where a run goes on may change without consent."""
    old, new = both(load, f"{key}={value}")
    changes = classify_changes(old, new)
    assert [change.key for change in changes.free] == [key]
    assert changes.gated == ()
    assert plan_config_part(old) == plan_config_part(new)


@pytest.mark.parametrize(("key", "value"), flat(GATED))
def test_any_other_key_needs_consent(load: Load, key: str, value: str) -> None:
    """Whatever could change a result is told, and changes the digest (but for the number of trials)."""
    old, new = both(load, f"{key}={value}")
    changes = classify_changes(old, new)
    assert [change.key for change in changes.gated] == [key]
    assert changes.free == ()
    same = content_digest(plan_config_part(old)) == content_digest(plan_config_part(new))
    assert same == (key == "run.trials")


def test_every_key_is_either_free_or_gated() -> None:
    """No key of the model is missing from the two lists above."""
    listed = {key for key, _ in flat(FREE)} | {key for key, _ in flat(GATED)} | {"arms.b.name"}
    keys = {
        f"{'arms.b' if table == 'arms' else table}.{name}"
        for table, model in RunConfig.TABLES.items()
        for name in model.model_fields
    }
    assert keys == listed


def test_arms_that_come_go_or_move_need_consent(load: Load) -> None:
    """A new, lost or renamed arm and another order are changes of the plan."""
    old, _ = both(load)
    cases: dict[str, Any] = {
        "moved": tuple(reversed(old.arms)),
        "lost": old.arms[:1],
        "renamed": (old.arms[0], old.arms[1].model_copy(update={"name": "c"})),
    }
    for name, arms in cases.items():
        changes = classify_changes(old, old.model_copy(update={"arms": arms}))
        assert changes.gated[0].key == "arms", name
        assert changes.free == (), name


def test_a_renewed_credential_is_no_change(load: Load) -> None:
    """Texts are compared as they are written, and their values enter no digest."""
    old, new = both(load)
    assert old.arms[0].options != new.arms[0].options
    assert classify_changes(old, new) == ((), ())
    assert plan_config_part(old) == plan_config_part(new)


def test_a_change_tells_both_values(load: Load) -> None:
    """Old and new stand in it, for the message and for the journal."""
    old, new = both(load, "run.trials=20")
    assert classify_changes(old, new).free == (Change("run.trials", 10, 20),)
