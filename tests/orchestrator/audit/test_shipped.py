"""The audits that providers ship are what the command finds today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from orchestrator.audit import TaskAudit, document_for, find_audit, read_document, shipped_path, to_bytes
from orchestrator.audit.team import red_team
from orchestrator.config import load_config
from orchestrator.preparation import Prepared, prepare

CONFIGS: Final = Path(__file__).parents[3] / "configs"
SHIPPED: Final = {"mockmed anchor": "reference.toml", "mockmed full": "full.toml"}
"""Provider and pack -> a configuration that takes all of its tasks. `make audits` writes the files anew."""


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_audit_is_fresh(attack: Callable[[Prepared], list[TaskAudit]], name: str) -> None:
    """Every task passes, and the file in the package has the bytes that its audit gives now (`make audits`)."""
    prepared = prepare(load_config(CONFIGS / SHIPPED[name], environ={}))
    audits = attack(prepared)
    assert [audit.task_id for audit in audits if not audit.passed] == []
    path = shipped_path(prepared)
    assert path is not None
    assert path.read_bytes() == to_bytes(document_for(prepared, audits))


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("name", "tasks"),
    [
        ("ladder.toml", ()),
        ("variants.toml", ("*::clean_save", "*::edit_overwritten", "*::soft_deleted", "*::unique_refused")),
    ],
)
def test_a_shipped_audit_of_the_record_application_is_fresh(name: str, tasks: tuple[str, ...]) -> None:
    """The same with a real service and real databases; of many tasks, for a few."""
    prepared = prepare(load_config(CONFIGS / name, environ={}, tasks=tasks))
    audits = red_team(prepared)
    assert [audit.task_id for audit in audits if not audit.passed] == []
    path = shipped_path(prepared)
    assert path is not None
    shipped, found = read_document(path), document_for(prepared, audits)
    assert len(found.tasks) == (len(tasks) or 10)
    assert [shipped.task(entry.task_id) for entry in found.tasks] == found.tasks


@pytest.mark.parametrize(
    "name",
    ["reference.toml", "full.toml", "ladder.toml", "variants.toml", "generated.toml", "ladder-postgres.toml"],
)
def test_our_configurations_are_audited(name: str) -> None:
    """For each of them an audit is found that is of this pack and this code, and every task has passed."""
    document, problem = find_audit(prepare(load_config(CONFIGS / name, environ={})))
    assert problem == ""
    assert document is not None
    assert all(entry.passed for entry in document.tasks)
