"""The audits that providers ship are what the command finds today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from orchestrator.audit import TaskAudit, document_for, find_audit, shipped_path, to_bytes
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
@pytest.mark.parametrize("name", ["ladder.toml", "variants.toml"])
def test_a_shipped_audit_of_the_record_application_is_fresh(name: str) -> None:
    """The same with a real service and real databases."""
    prepared = prepare(load_config(CONFIGS / name, environ={}))
    audits = red_team(prepared)
    assert [audit.task_id for audit in audits if not audit.passed] == []
    path = shipped_path(prepared)
    assert path is not None
    assert path.read_bytes() == to_bytes(document_for(prepared, audits))


@pytest.mark.parametrize(
    "name", ["reference.toml", "full.toml", "ladder.toml", "variants.toml", "ladder-postgres.toml"]
)
def test_our_configurations_are_audited(name: str) -> None:
    """For each of them an audit is found that is of this pack and this code, and every task has passed."""
    document, problem = find_audit(prepare(load_config(CONFIGS / name, environ={})))
    assert problem == ""
    assert document is not None
    assert all(entry.passed for entry in document.tasks)
