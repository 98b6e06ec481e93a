"""Nothing that a library logs by itself reaches standard error, and whoever wants its log still has it."""

from __future__ import annotations

import subprocess
import sys

import pytest

BROKEN = """
import logging
try:
    raise ValueError("inside")
except ValueError:
    logging.getLogger({name!r}).error("closing failed", exc_info=True)
"""


def complaint(program: str) -> str:
    """What a program of its own prints to standard error; pytest would have taken the log here."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr


def test_a_silenced_library_prints_nothing() -> None:
    """Without the call there is a traceback, with it there is none, and a handler of one's own hears it still."""
    broken = BROKEN.format(name="lib.part")
    silenced = "from spec.libraries import silence; silence('lib'); silence('lib')\n"
    assert "ValueError: inside" in complaint(broken)
    assert complaint(silenced + broken) == ""
    assert "ValueError" in complaint(f"{silenced}import logging; logging.basicConfig()\n{broken}")


@pytest.mark.parametrize(
    ("module", "library"),
    [
        ("oracle.channels.sql_engines", "sqlalchemy.pool.impl.NullPool"),
        ("oracle.channels.sql_engines", "psycopg"),
        ("providers.postgres.databases", "psycopg"),
        ("providers.records.postgres_access", "sqlalchemy.pool.impl.NullPool"),
        ("providers.declared.tools.mcp", "mcp.client.stdio"),
    ],
)
def test_who_uses_a_library_silences_it(module: str, library: str) -> None:
    """A server that dies in the middle of a reading is told by the reading, not by a traceback of the driver's."""
    assert complaint(f"import {module}\n{BROKEN.format(name=library)}") == ""
