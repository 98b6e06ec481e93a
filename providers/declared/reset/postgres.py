"""A PostgreSQL database for each trial: lent from a pool of copies of one template, with the trial's own rows added.

The server is embedded for the time of the process, or one that runs already. Three roles: the owner fills, the tools
act as ``app``, and the oracle reads as ``oracle``, whose password the environment of a trial never has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import psycopg
from psycopg.conninfo import make_conninfo

from providers.declared.closing import Closing
from providers.declared.model import SqlReset
from providers.declared.reset.scripts import Script, bound
from providers.postgres import (
    DatabasePool,
    EmbeddedServer,
    Logins,
    PoolSettings,
    ServerSettings,
    open_pool,
    start_server,
)
from providers.postgres.existing import check_server, existing_logins
from providers.postgres.logins import Login
from providers.postgres.script import run_script
from spec.canonical import Json
from spec.clock import Clock, SystemClock
from spec.errors import ConfigError, ProviderFault

_CONNECTIONS_BESIDE: Final = 32
"""Connections of an embedded server besides three for each database: the pool's own, and the oracle's."""


class PostgresRecords:
    """Lends databases; made by ``open_records``.

    Args:
        reset: what is declared.
        template: scripts that every trial has in common; read by ``psql``.
        scripts: what each trial adds.
        clock: for deadlines and names.
    """

    def __init__(self, reset: SqlReset, template: Sequence[Script], scripts: Sequence[Script], clock: Clock) -> None:
        self._reset, self._template, self._scripts, self._clock = reset, template, scripts, clock
        self._opening = anyio.Lock()
        self._server: EmbeddedServer | None = None
        self._pool: DatabasePool | None = None

    async def pool(self) -> DatabasePool:
        """The pool; the first call starts a server or reaches one, and a server of ours that has ended is replaced.

        Raises:
            ConfigError: a statement of the template fails, or there is no server.
            ProviderFault: the server cannot be used.
        """
        async with self._opening:
            if self._server is not None and self._server.ended:
                await self.close()
            if self._pool is None:
                settings = PoolSettings(databases_max=self._reset.databases_max)
                self._pool = await open_pool(await self._logins(), self._build, settings, self._clock)
            return self._pool

    async def take(self, values: Mapping[str, Json], closing: Closing) -> dict[str, Json]:
        """A database for one trial; what it is to be called by.

        Raises:
            ConfigError: a statement fails; its file and line are named.
            ProviderFault: there is no database to be had.
        """
        pool = await self.pool()
        name = await pool.take()
        closing.add("the trial's database", partial(pool.give_back, name))
        logins = pool.logins
        if self._scripts:
            await _run(logins.owner, name, self._scripts, values)
        made: dict[str, Json] = {
            "database_name": name,
            "database_dsn": make_conninfo(**logins.app.arguments(name)),
            "database_url": logins.oracle.url(name),
        }
        if logins.oracle.password_file is not None:
            made["database_password_file"] = str(logins.oracle.password_file)
        return made

    async def close(self) -> None:
        """Drop every database, and end the server where it is ours.

        Raises:
            ProviderFault: some databases are still there.
        """
        pool, self._pool = self._pool, None
        server, self._server = self._server, None
        try:
            if pool is not None:
                await pool.close(drop=server is None)
        finally:
            if server is not None:
                await server.stop()

    async def _logins(self) -> Logins:
        if self._reset.dsn_env is not None:
            return existing(self._reset)
        if self._server is None:
            connections_max = _CONNECTIONS_BESIDE + 3 * self._reset.databases_max
            self._server = await start_server(ServerSettings(connections_max=connections_max), self._clock)
        return self._server.logins

    async def _build(self, login: Login, database: str) -> None:
        for script in self._template:
            await run_script(script.path, login, database)


async def open_records(
    reset: SqlReset, template: Sequence[Script], scripts: Sequence[Script], closing: Closing
) -> PostgresRecords:
    """Start a server or reach one, and fill the template.

    Args:
        reset: what is declared.
        template: scripts that every trial has in common; read by ``psql``.
        scripts: what each trial adds.
        closing: takes what has to be given back.

    Raises:
        ConfigError: a statement of the template fails, or there is no server.
        ProviderFault: the server cannot be used.
    """
    records = PostgresRecords(reset, template, scripts, SystemClock())
    closing.add("the databases of PostgreSQL", records.close)
    await records.pool()
    return records


def existing(reset: SqlReset) -> Logins:
    """The logins for a server that runs already.

    Raises:
        ConfigError: its address is not there or is none.
    """
    assert reset.dsn_env is not None
    return existing_logins(reset.dsn_env, reset.oracle_role or "")


def check_existing(reset: SqlReset) -> None:
    """Reach the server that is named, once, within seconds.

    Raises:
        ConfigError: it is not reached, refuses the password, or lacks something.
    """
    if reset.dsn_env is not None:
        check_server(existing(reset))


async def _run(owner: Login, database: str, scripts: Sequence[Script], values: Mapping[str, Json]) -> None:
    """Run what a trial adds, in one transaction."""
    try:
        async with await psycopg.AsyncConnection.connect(**owner.arguments(database)) as connection:
            for script in scripts:
                for statement in script.statements:
                    try:
                        if statement.params:
                            await connection.execute(statement.pyformat.encode(), bound(statement, values))
                        else:
                            await connection.execute(statement.text.encode())
                    except psycopg.OperationalError:
                        raise
                    except psycopg.Error as error:
                        raise script.failure(statement, error) from None
    except ConfigError:
        raise
    except psycopg.Error as error:
        raise ProviderFault(f"the trial's rows could not be written: {' '.join(str(error).split())}") from None
