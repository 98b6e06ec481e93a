from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import psycopg
import pytest
from sqlalchemy.exc import SQLAlchemyError

from oracle.base import ChannelContext
from oracle.channels.sql import SqlChannel
from providers.postgres import EmbeddedServer
from providers.records import desk
from providers.records.drafts import Draft
from providers.records.ladder import ladder
from providers.records.postgres import PostgresPlace, PostgresStorage
from providers.records.postgres_access import PostgresAccess
from providers.records.shape import NOTES_SHOUTED
from providers.records.sqlite import SqliteStorage
from providers.records.storage import Stored, Template
from providers.records.tables import METADATA
from providers.records.writing import save
from spec.clock import SystemClock
from spec.errors import ProviderFault
from spec.reading import ReadPath, Tables

TABLES = tuple(METADATA.tables)
TEMPLATE = Template({"patients": desk.LADDER_PATIENTS, "encounters": (desk.CONSULT,)})
GONE_S = 20.0
DRAFT = Draft("p1", "Triage", note="seen", key=None)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """A server answers in real time, so the loop must not jump."""
    return "asyncio"


@pytest.fixture
async def storage(postgres_server: EmbeddedServer) -> AsyncIterator[PostgresStorage]:
    made = PostgresStorage(PostgresPlace(postgres_server.logins, databases_max=4), SystemClock())
    yield made
    await made.close()


@pytest.fixture
async def service() -> AsyncIterator[PostgresAccess]:
    made = PostgresAccess()
    yield made
    made.close()


async def no_fetch(worker: str, places: Sequence[int]) -> bytes:
    raise AssertionError("nothing is in a worker's memory here")


async def by_the_oracle(stored: Stored, **credentials: str) -> Tables:
    channel = SqlChannel(ChannelContext(no_fetch, SystemClock(), credentials))
    (read,) = await channel.read([ReadPath("sql", final=False, where=stored.read_where)])
    await channel.close()
    assert isinstance(read, dict), read
    return read


@pytest.mark.anyio
async def test_both_storages_hold_the_same(storage: PostgresStorage, tmp_path: Path) -> None:
    """For each template of the ladder PostgreSQL holds what SQLite holds, to verifiers and to the oracle alike."""
    other = SqliteStorage(tmp_path)
    for entry in ladder("sql").entries:
        template = Template(entry.wiring.rows, entry.wiring.extras)
        ours, theirs = await storage.open(template), await other.open(template)
        expected = await other.read(theirs, TABLES)
        assert await storage.read(ours, TABLES) == expected
        assert await by_the_oracle(ours) == expected
        await storage.release(ours)
    await other.close()


@pytest.mark.anyio
async def test_a_trial_starts_afresh_under_another_name(storage: PostgresStorage, service: PostgresAccess) -> None:
    """What one trial wrote is gone for the next, ids count from the start, and the old address leads nowhere."""
    first = await storage.open(TEMPLATE)
    before = await storage.read(first, TABLES)
    assert await service.run(first.url, lambda connection: save(connection, DRAFT, "now")) == 2
    assert len((await by_the_oracle(first))["encounters"]) == 2
    await storage.release(first)
    second = await storage.open(TEMPLATE)
    assert second.url != first.url
    assert await storage.read(second, TABLES) == before
    for _ in range(2):  # by the connection that was kept, and by a new one
        with pytest.raises(SQLAlchemyError):
            await service.run(first.url, lambda connection: save(connection, DRAFT, "now"))
    assert await service.run(second.url, lambda connection: save(connection, DRAFT, "now")) == 2
    await storage.release(second)


@pytest.mark.anyio
async def test_what_is_built_in_hears_of_no_earlier_row(storage: PostgresStorage, service: PostgresAccess) -> None:
    """A trigger rewrites what the application saves, and not the rows that stood before it."""
    stored = await storage.open(replace(TEMPLATE, extras=(NOTES_SHOUTED,)))
    await service.run(stored.url, lambda connection: save(connection, DRAFT, "now"))
    notes = [row["note"] for row in (await by_the_oracle(stored))["encounters"]]
    assert notes == [desk.CONSULT["note"], "SEEN"]
    await storage.release(stored)


@pytest.mark.anyio
async def test_an_audit_writes_as_the_application_does(storage: PostgresStorage) -> None:
    """Work around the application is done with the record's own credentials, which change no table."""
    stored = await storage.open(TEMPLATE)
    await storage.write(stored, lambda connection: save(connection, DRAFT, "now"))
    assert len((await storage.read(stored, ["encounters"]))["encounters"]) == 2
    with pytest.raises(SQLAlchemyError, match="must be owner"):
        await storage.write(stored, lambda connection: connection.exec_driver_sql("DROP TABLE billing"))
    await storage.release(stored)


@pytest.mark.anyio
async def test_rows_that_do_not_fit_are_a_provider_fault(storage: PostgresStorage) -> None:
    """Rows that the database refuses are told with its reason, and the database is not lost."""
    twice = Template({"patients": (desk.MIRA, desk.MIRA)})
    for _ in range(5):  # more often than there are databases
        with pytest.raises(ProviderFault, match=r"rows of a record could not be written.*duplicate key"):
            await storage.open(twice)
    await storage.release(await storage.open(TEMPLATE))


@pytest.mark.anyio
async def test_on_a_server_that_runs_nothing_stays(postgres_server: EmbeddedServer) -> None:
    """On a server that lives on, the oracle's password comes from a variable, and no database is left."""
    logins = postgres_server.logins
    oracle = replace(logins.oracle, password=None, password_file=None)
    place = PostgresPlace(replace(logins, app=logins.owner, oracle=oracle), "READ_PASSWORD", 2)

    def databases() -> set[str]:
        with psycopg.connect(**logins.owner.arguments("postgres")) as connection:
            return {row[0] for row in connection.execute("SELECT datname FROM pg_database")}

    before = databases()
    storage = PostgresStorage(place, SystemClock())
    stored = await storage.open(TEMPLATE)
    assert logins.oracle.password is not None
    assert len((await by_the_oracle(stored, READ_PASSWORD=logins.oracle.password))["patients"]) == 3
    assert len(databases()) == len(before) + 2
    await storage.close()
    assert databases() == before


@pytest.mark.anyio
async def test_a_server_that_dies_is_replaced() -> None:
    """Trials on a server that was killed are lost; the next one gets another server, and nothing of either stays."""
    storage = PostgresStorage(PostgresPlace(databases_max=2), SystemClock())
    try:
        lost = await storage.open(TEMPLATE)
        first = storage._server
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        with anyio.fail_after(GONE_S):
            while not first.ended:  # noqa: ASYNC110 - the end of a process is no event of the loop
                await anyio.sleep(0.01)
        found = await storage.open(TEMPLATE)
        assert (await storage.read(found, ["patients"]))["patients"]
        await storage.release(lost)
        await storage.release(found)
        second = storage._server
        assert second is not None
        assert second.pid != first.pid
    finally:
        await storage.close()
    assert second.ended
    assert not first.directory.exists()
    assert not second.directory.exists()
