"""The leaky clinic, prepared and attacked on a loop whose time jumps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.audit import TaskAudit
from orchestrator.audit.team import audit_tasks
from orchestrator.config import load_config
from orchestrator.preparation import Prepared, prepare
from spec.clock import Clock

CLINIC: Final = Path(__file__).with_name("leaky.toml")

PrepareClinic = Callable[..., Prepared]
Attack = Callable[[Prepared], list[TaskAudit]]


def prepared_clinic(leak: str = "", config: Path = CLINIC) -> Prepared:
    return prepare(load_config(config, environ={}, sets=[f"provider.options.leak={leak}"] if leak else []))


@pytest.fixture(scope="session")
def clinic() -> PrepareClinic:
    """The clinic with a leak."""
    return prepared_clinic


@pytest.fixture(scope="session")
def attack(virtual: Callable[..., Any], clock: Clock) -> Attack:
    """The audit of what was prepared."""

    def attacked(prepared: Prepared) -> list[TaskAudit]:
        found: list[TaskAudit] = virtual(partial(audit_tasks, prepared, clock))
        return found

    return attacked


@pytest.fixture(scope="session")
def attack_clinic(attack: Attack) -> Callable[[str], TaskAudit]:
    """What comes of the clinic's task, for each leak once."""

    @cache
    def attacked(leak: str) -> TaskAudit:
        (audit,) = attack(prepared_clinic(leak))
        return audit

    return attacked
