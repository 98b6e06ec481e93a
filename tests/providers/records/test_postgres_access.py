from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import anyio
import pytest
from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from providers.postgres import EmbeddedServer
from providers.records import postgres_access
from providers.records.postgres_access import READING, PostgresAccess


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """A server answers in real time, so the loop must not jump."""
    return "asyncio"


@pytest.fixture
def url(postgres_server: EmbeddedServer, postgres_database: str) -> str:
    """A database with one table, for its owner."""
    owner = postgres_server.logins.owner
    return make_url(owner.url(postgres_database)).set(password=owner.password).render_as_string(hide_password=False)


@pytest.fixture
def access() -> Iterator[PostgresAccess]:
    made = PostgresAccess()
    yield made
    made.close()


def make(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE t (x int PRIMARY KEY)"))


def put(connection: Connection) -> None:
    connection.execute(text("INSERT INTO t VALUES (1)"))


def count(connection: Connection) -> int:
    return int(connection.execute(text("SELECT count(*) FROM t")).scalar_one())


def session(connection: Connection) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())


@pytest.mark.anyio
async def test_work_is_one_transaction(access: PostgresAccess, url: str) -> None:
    """Work is committed, or taken back where that is asked or it fails; then the next work starts afresh."""
    await access.run(url, make)
    await access.run(url, put, commit=False)
    assert await access.run(url, count) == 0
    await access.run(url, put)
    with pytest.raises(IntegrityError):
        await access.run(url, put)
    assert await access.run(url, count) == 1


@pytest.mark.anyio
async def test_a_connection_is_kept_and_none_is_shared(access: PostgresAccess, url: str) -> None:
    """One work after another uses the same session; two at once have one each."""
    assert await access.run(url, session) == await access.run(url, session)
    found: list[int] = []

    async def slow() -> None:
        def work(connection: Connection) -> int:
            connection.execute(text("SELECT pg_sleep(0.2)"))
            return session(connection)

        found.append(await access.run(url, work))

    async with anyio.create_task_group() as group:
        group.start_soon(slow)
        group.start_soon(slow)
    assert len(set(found)) == 2


@pytest.mark.anyio
async def test_no_more_is_kept_than_allowed(access: PostgresAccess, url: str) -> None:
    """A connection goes when others need its place."""
    with patch.object(postgres_access, "CONNECTIONS_KEPT_MAX", 1):
        one = await access.run(url, session)
        await access.run(f"{url}&application_name=other", session)
        assert await access.run(url, session) != one


@pytest.mark.anyio
async def test_a_reader_cannot_write_and_a_lost_session_is_an_error(url: str, access: PostgresAccess) -> None:
    """With the options for reading no row can be written; where the server has ended the session, work fails once."""
    await access.run(url, make)
    reader = PostgresAccess(dict(READING))
    with pytest.raises(DBAPIError, match="read-only"):
        await reader.run(url, put)
    assert await reader.run(url, count, commit=False) == 0
    pid = await reader.run(url, session)
    await access.run(url, lambda connection: connection.execute(text(f"SELECT pg_terminate_backend({pid}, 5000)")))
    with pytest.raises(DBAPIError):
        await reader.run(url, count)
    assert await reader.run(url, count) == 0
    reader.close()
