"""The databases of a declaration on a server of its own: another one where it dies, and nothing left of either."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import psycopg
import pytest

from providers.declared.closing import Closing
from providers.declared.model import SqlReset
from providers.declared.reset.postgres import open_records
from providers.declared.reset.scripts import read_script
from spec.errors import ConfigError

GONE_S = 20.0


def test_a_server_that_dies_is_replaced(tmp_path: Path) -> None:
    """The trial after the server's end has a database of another server, filled from the same scripts."""
    (tmp_path / "schema.sql").write_text("CREATE TABLE tickets (id int PRIMARY KEY); INSERT INTO tickets VALUES (7);")
    template = [read_script(tmp_path / "schema.sql")]

    async def main() -> None:
        shared, lost, later = Closing(), Closing(), Closing()
        records = await open_records(SqlReset(database="postgres", databases_max=2), template, [], shared)
        await records.take({}, lost)
        first = records._server
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        with anyio.fail_after(GONE_S):
            while not first.ended:  # noqa: ASYNC110 - the end of a process is no event of the loop
                await anyio.sleep(0.01)
        made = await records.take({}, later)
        async with await psycopg.AsyncConnection.connect(str(made["database_dsn"])) as connection:
            assert await (await connection.execute("SELECT id FROM tickets")).fetchall() == [(7,)]
        second = records._server
        assert second is not None
        for closing in (lost, later, shared):
            await closing.close()
        assert second.ended
        assert not first.directory.exists()
        assert not second.directory.exists()

    anyio.run(main)


def test_a_template_that_fails_leaves_no_server(tmp_path: Path) -> None:
    """A mistake in a script names its line, and the server that was started for it is gone."""
    (tmp_path / "schema.sql").write_text("SELECT 1;\nCREATE TABEL tickets ();\n")
    template = [read_script(tmp_path / "schema.sql")]

    async def main() -> None:
        shared = Closing()
        with pytest.raises(ConfigError, match=r"schema.sql:2"):
            await open_records(SqlReset(database="postgres"), template, [], shared)
        await shared.undo()

    anyio.run(main)
