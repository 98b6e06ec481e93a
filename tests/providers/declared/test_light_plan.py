"""A plan reads a declaration without what only a run needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import orchestrator

CONFIGS = Path(orchestrator.__file__).parent.parent / "configs"
HEAVY = ("httpx", "psycopg", "mcp", "sqlalchemy", "yaml")


@pytest.mark.parametrize("name", ["tickets/desk.toml", "invoices/archive.toml"])
def test_a_plan_imports_no_client(name: str) -> None:
    """No client of a service or a database is imported before a record is opened."""
    program = (
        "import sys; from pathlib import Path; from providers.declared import Declared\n"
        f"provider = Declared(options={{'file': {name!r}}}, folder=Path({str(CONFIGS)!r}))\n"
        "[provider.payload(task, 0, 0) for task in provider.tasks()]; provider.manifest(); provider.check()\n"
        f"print(*sorted(set(sys.modules) & {set(HEAVY)!r}))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)
    assert answer.stdout.split() == []
