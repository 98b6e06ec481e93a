from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from providers.postgres import EmbeddedServer
from providers.postgres.databases import connect, create_database, drop_abandoned, drop_database, lock_run
from providers.postgres.image import Connection
from providers.postgres.names import RunTag, new_tag

NOW = "2026-12-01T03:00:00.000000Z"
LATER = "2026-12-01T04:00:01.000000Z"


@pytest.fixture
async def server(postgres_server: EmbeddedServer) -> AsyncIterator[Connection]:
    async with await connect(postgres_server.logins.owner, "postgres") as opened:
        yield opened


@pytest.fixture
async def left(postgres_server: EmbeddedServer, server: Connection) -> AsyncIterator[tuple[RunTag, str]]:
    """A run that is gone, with the name of a database that it left."""
    run = new_tag(NOW)
    await create_database(server, run.name("001"), postgres_server.logins, "template0")
    yield run, run.name("001")
    await drop_database(server, run.name("001"))


async def names(server: Connection) -> set[str]:
    return {row[0] for row in await (await server.execute("SELECT datname FROM pg_database")).fetchall()}


@pytest.mark.anyio
async def test_what_a_dead_run_left_is_dropped(server: Connection, left: tuple[RunTag, str]) -> None:
    """A database whose run no longer holds its lock goes at once; others with similar names stay."""
    await server.execute("CREATE DATABASE to_do")
    assert await drop_abandoned(server, NOW) == 1
    assert await names(server) & {left[1], "to_do"} == {"to_do"}
    await drop_database(server, "to_do")


@pytest.mark.anyio
async def test_a_living_run_keeps_its_databases(
    postgres_server: EmbeddedServer, server: Connection, left: tuple[RunTag, str]
) -> None:
    """While the run's connection lives its databases stay, however old they are; when it ends they go."""
    async with await connect(postgres_server.logins.owner, "postgres") as living:
        await lock_run(living, left[0])
        assert await drop_abandoned(server, LATER) == 0
    assert await drop_abandoned(server, LATER) == 1


@pytest.mark.anyio
async def test_a_database_in_use_stays_for_an_hour(
    postgres_server: EmbeddedServer, server: Connection, left: tuple[RunTag, str]
) -> None:
    """A session keeps an abandoned database for an hour and no longer."""
    async with await connect(postgres_server.logins.oracle, left[1]) as session:
        assert await drop_abandoned(server, NOW) == 0
        assert await drop_abandoned(server, LATER) == 1
        with pytest.raises(psycopg.OperationalError):
            await session.execute("SELECT 1")


@pytest.mark.anyio
async def test_only_the_roles_may_enter(postgres_server: EmbeddedServer, left: tuple[RunTag, str]) -> None:
    """App and oracle may enter a made database; they may make nothing in it, not even for their own session."""
    for login in (postgres_server.logins.app, postgres_server.logins.oracle):
        async with await connect(login, left[1]) as session:
            await session.execute("SET default_transaction_read_only = off")
            for statement in ("CREATE TABLE t (x int)", "CREATE TEMPORARY TABLE t (x int)", "CREATE SCHEMA s"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    await session.execute(statement)
