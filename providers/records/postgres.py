"""Records in PostgreSQL: a prepared database a trial, on a server of this worker's own or on one that runs already.

A pool's template has the tables and what is built in, and no rows: those are the trial's, and are written when it
begins, while no trigger listens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

import anyio
from anyio import to_thread
from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow
from sqlalchemy import Connection, make_url, select
from sqlalchemy.exc import SQLAlchemyError

from providers.postgres import (
    Build,
    DatabasePool,
    EmbeddedServer,
    Login,
    Logins,
    PoolSettings,
    ServerSettings,
    open_pool,
    start_server,
)
from providers.records.postgres_access import READING, PostgresAccess
from providers.records.storage import Stored, Template, fill, plain
from providers.records.tables import METADATA
from spec.clock import Clock
from spec.errors import ProviderFault
from spec.reading import Tables

CONNECTIONS_A_DATABASE: Final = 6
"""Room for the service, two verifiers, the oracle, the pool and one that is just being ended."""
CONNECTIONS_BESIDES: Final = 80
"""Room for connections that the service keeps of trials that are over, and for the server itself."""

T = TypeVar("T")


class PostgresPlace(NamedTuple):
    """Where the databases are made.

    Attributes:
        logins: on a server that runs; None: a server is started for this worker.
        oracle_password_env: the variable with the oracle's password on a server that runs.
        databases_max: trials that have a database at the same time, at most.
    """

    logins: Logins | None = None
    oracle_password_env: str = ""
    databases_max: int = 32


class _Lent(NamedTuple):
    """What a database is given back to, and under which name."""

    pool: DatabasePool
    name: str


class PostgresStorage:
    """The worker's side (``providers.records.storage.Storage``).

    Args:
        place: where the databases are made.
        clock: for deadlines and names.
    """

    def __init__(self, place: PostgresPlace, clock: Clock) -> None:
        self._place, self._clock = place, clock
        self._server: EmbeddedServer | None = None
        self._pools: dict[Sequence[str], DatabasePool] = {}
        self._opening = anyio.Lock()
        self._reader, self._writer = PostgresAccess(dict(READING)), PostgresAccess()

    async def open(self, template: Template) -> Stored:
        """A prepared database with the template's rows."""
        pool = await self._pool(tuple(template.extras))
        name = await pool.take(partial(_write_rows, template))
        where = {"url": pool.logins.oracle.url(name), "template": template.name, **self._password(pool.logins.oracle)}
        return Stored(_url(pool.logins.app, name), where, _Lent(pool, name))

    async def read(self, stored: Stored, tables: Sequence[str]) -> Tables:
        """Tables of one moment, in a transaction that cannot write."""
        return await self._reader.run(stored.url, partial(_read_tables, tables), commit=False)

    async def write(self, stored: Stored, work: Callable[[Connection], T]) -> T:
        """Work around the application, with the record's own credentials."""
        return await self._writer.run(stored.url, work)

    async def release(self, stored: Stored) -> None:
        """Put the database back for another trial."""
        assert isinstance(stored.handle, _Lent)
        await stored.handle.pool.give_back(stored.handle.name)

    async def close(self) -> None:
        """Drop every database, and end the server where it is ours."""
        for access in (self._reader, self._writer):
            access.close()
        await self._let_go()

    async def _let_go(self) -> None:
        pools, self._pools = list(self._pools.values()), {}
        server, self._server = self._server, None
        try:
            for pool in pools:
                await pool.close(drop=server is None)
        finally:
            if server is not None:
                await server.stop()

    def _password(self, oracle: Login) -> Mapping[str, str]:
        if oracle.password_file is not None:
            return {"password_file": str(oracle.password_file)}
        return {"password_env": self._place.oracle_password_env}

    async def _pool(self, extras: Sequence[str]) -> DatabasePool:
        """The pool of databases with these things built in; starts the server, and another where that has ended."""
        async with self._opening:
            if self._server is not None and self._server.ended:
                await self._let_go()
            if extras not in self._pools:
                logins = await self._logins()
                alike = logins.app.user == logins.owner.user  # else nobody in a trial can change a table
                settings = PoolSettings(databases_max=self._place.databases_max, shape_checked=alike)
                self._pools[extras] = await open_pool(logins, _builder(extras), settings, self._clock)
            return self._pools[extras]

    async def _logins(self) -> Logins:
        if self._place.logins is not None:
            return self._place.logins
        if self._server is None:
            connections = self._place.databases_max * CONNECTIONS_A_DATABASE + CONNECTIONS_BESIDES
            self._server = await start_server(ServerSettings(connections_max=connections), self._clock)
        return self._server.logins


def _builder(extras: Sequence[str]) -> Build:
    """What makes the tables of a template, with no rows."""

    async def build(owner: Login, database: str) -> None:
        access = PostgresAccess()
        try:
            await access.run(_url(owner, database), partial(_fill, Template({}, extras)))
        except SQLAlchemyError as error:
            raise ProviderFault(f"the tables of the record could not be made: {_first_line(error)}") from error
        finally:
            await to_thread.run_sync(access.close)

    return build


def _fill(template: Template, connection: Connection) -> None:
    fill(connection, template)


async def _write_rows(template: Template, connection: AsyncConnection[TupleRow]) -> None:
    """The rows that stand before the trial; what is built in does not see them, as if it had been built in after."""
    async with connection.cursor() as cursor:
        for name, rows in template.rows.items():
            if not rows:
                continue
            table = sql.Identifier(name)
            if template.extras:
                await cursor.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(table))
            columns = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
            values = sql.SQL(", ").join(map(sql.Placeholder, rows[0]))
            statement = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(table, columns, values)
            await cursor.executemany(statement, [dict(row) for row in rows])
            if template.extras:
                await cursor.execute(sql.SQL("ALTER TABLE {} ENABLE TRIGGER USER").format(table))


def _read_tables(tables: Sequence[str], connection: Connection) -> Tables:
    return {
        name: [plain(row) for row in connection.execute(select(METADATA.tables[name])).mappings()] for name in tables
    }


def _url(login: Login, database: str) -> str:
    """With the password: for this trial's service, by way of a file that only we can read."""
    return make_url(login.url(database)).set(password=login.password).render_as_string(hide_password=False)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
