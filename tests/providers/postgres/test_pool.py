from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import psycopg
import pytest
from anyio import to_thread
from anyio.streams.buffered import BufferedByteReceiveStream

from providers.postgres import DatabasePool, EmbeddedServer, Login, PoolSettings, open_pool
from providers.postgres.binaries import find_programs
from providers.postgres.databases import connect
from providers.postgres.image import Connection
from spec.clock import SystemClock
from spec.errors import ProviderFault
from tests.providers.postgres.records import MESS, build, contents

SETTINGS = PoolSettings(databases_max=2, wait_deadline_s=0.2, step_deadline_s=10)


PARENT = """
import sys
from pathlib import Path

import anyio
from providers.postgres import Login, Logins, PoolSettings, open_pool
from spec.clock import SystemClock
from tests.providers.postgres.records import build

async def main():
    home = Path(sys.argv[1])
    owner = Login(str(home / "socket"), int(sys.argv[2]), "provider", (home / "keys" / "provider").read_text())
    pool = await open_pool(Logins(owner, owner, owner), build, PoolSettings(), SystemClock())
    print(pool.template, await pool.take(), flush=True)
    await anyio.sleep(600)

anyio.run(main)
"""


@pytest.fixture
async def pool(postgres_server: EmbeddedServer) -> AsyncIterator[DatabasePool]:
    opened = await open_pool(postgres_server.logins, build, SETTINGS, SystemClock())
    yield opened
    await opened.close()


async def databases(postgres_server: EmbeddedServer) -> set[str]:
    async with await connect(postgres_server.logins.owner, "postgres") as connection:
        found = await connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'to\\_%'")
        return {row[0] for row in await found.fetchall()}


async def run(login: Login, database: str, statement: str) -> list[tuple[object, ...]]:
    async with await connect(login, database) as connection:
        done = await connection.execute(statement)
        return await done.fetchall() if done.description else []


def dumped(postgres_server: EmbeddedServer, database: str, passwords: Path) -> str:
    """Everything in a database, as PostgreSQL's own program writes it down."""
    owner = postgres_server.logins.owner
    passwords.write_text(f"*:*:*:*:{owner.password}\n")
    passwords.chmod(0o600)
    address = f"host={owner.host} port={owner.port} user={owner.user} dbname={database} passfile={passwords}"
    command = [str(find_programs() / "pg_dump"), "--restrict-key=x", address]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return str(done.stdout)


@pytest.mark.anyio
async def test_a_reset_database_equals_a_fresh_one(
    postgres_server: EmbeddedServer, pool: DatabasePool, tmp_path: Path
) -> None:
    """After a trial's mess a database has the content, sequences, tables and rights of one that was never used."""
    used, app = await pool.take(), postgres_server.logins.app
    await run(app, used, MESS.replace("nextval('alone'), ", ""))
    await pool.give_back(used)
    again, fresh = await pool.take(), await pool.take()
    assert len({used, again, fresh}) == 3
    arguments = postgres_server.logins.owner.arguments
    assert contents(arguments(again)) == contents(arguments(fresh))
    first, second = [
        await to_thread.run_sync(dumped, postgres_server, name, tmp_path / "passwords") for name in (again, fresh)
    ]
    assert "it's a table" in first
    assert first == second
    assert pool.replaced == 0


@pytest.mark.anyio
async def test_trials_do_not_see_each_other(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """What one trial writes is not in another's database, nor in the next trial's."""
    one, two = await pool.take(), await pool.take()
    count = "SELECT count(*) FROM encounter WHERE note = 'mine!'"
    app, oracle = postgres_server.logins.app, postgres_server.logins.oracle
    await run(app, one, "INSERT INTO encounter (note) VALUES ('mine')")
    assert await run(oracle, one, count) == [(1,)]
    assert await run(oracle, two, count) == [(0,)]
    await pool.give_back(one)
    assert await run(oracle, await pool.take(), count) == [(0,)]


@pytest.mark.anyio
async def test_a_trial_that_is_still_at_work_is_ended(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """A transaction that a trial left open is ended with its session, and its database's name leads nowhere."""
    name = await pool.take()
    late = await connect(postgres_server.logins.app, name)
    await late.execute("BEGIN; INSERT INTO encounter (note) VALUES ('late')")
    await pool.give_back(name)
    with pytest.raises(psycopg.OperationalError):
        await late.execute("COMMIT")
    again = await pool.take()
    assert again != name
    assert pool.replaced == 0
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        await connect(postgres_server.logins.app, name)
    assert await run(postgres_server.logins.oracle, again, "SELECT count(*) FROM encounter WHERE note ~ 'late'") == [
        (0,)
    ]
    await late.close()


@pytest.mark.anyio
async def test_the_pool_is_bounded_and_waiting_ends(pool: DatabasePool) -> None:
    """A third trial waits until a database is free; if none becomes free in time it is told so, and nothing is lost."""
    first, second = await pool.take(), await pool.take()
    with pytest.raises(ProviderFault, match=r"within 0\.2 s: all 2 of the pool are in use"):
        await pool.take()
    taken: list[str] = []

    async def third() -> None:
        taken.append(await pool.take())

    async with anyio.create_task_group() as group:
        group.start_soon(third)
        await pool.give_back(first)
    assert taken not in ([first], [second])


@pytest.mark.anyio
async def test_a_trial_brings_rows_of_its_own(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """A seed's rows are there when the database is handed out, and gone for the next; one that fails takes no place."""

    async def seed(connection: Connection) -> None:
        await connection.execute("INSERT INTO empty DEFAULT VALUES")

    async def wrong(connection: Connection) -> None:
        await connection.execute("INSERT INTO empty DEFAULT VALUES")
        await connection.execute("INSERT INTO nowhere DEFAULT VALUES")

    count, oracle = "SELECT count(*) FROM empty", postgres_server.logins.oracle
    for _ in range(3):
        name = await pool.take(seed)
        assert await run(oracle, name, count) == [(1,)]
        await pool.give_back(name)
        with pytest.raises(ProviderFault, match='could not be written: relation "nowhere"'):
            await pool.take(wrong)
    assert await run(oracle, await pool.take(), count) == [(0,)]
    assert pool.replaced == 0


@pytest.mark.anyio
async def test_a_database_that_resists_is_replaced(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """A database whose tables a trial has changed is dropped, and the next trial gets a new one."""
    name = await pool.take()
    await run(postgres_server.logins.owner, name, "DROP TABLE log CASCADE")
    await pool.give_back(name)
    assert pool.replaced == 1
    assert name not in await databases(postgres_server)
    other = await pool.take()
    assert other != name
    assert await run(postgres_server.logins.oracle, other, "SELECT count(*) FROM log") == [(6,)]


@pytest.mark.anyio
async def test_a_cancelled_trial_gives_back_whole(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """A give-back that is cancelled puts its database back all the same, and the pool goes on."""
    name = await pool.take()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await pool.give_back(name)
    assert name not in await databases(postgres_server)
    assert len({await pool.take(), await pool.take()}) == 2
    assert pool.replaced == 0


@pytest.mark.anyio
async def test_a_lost_connection_is_made_anew(postgres_server: EmbeddedServer, pool: DatabasePool) -> None:
    """Where the server has ended the pool's own connection, one trial may fail and the next goes on."""
    name = await pool.take()
    others = "FROM pg_stat_activity WHERE datname = 'postgres' AND usename = 'provider'"
    await run(postgres_server.logins.owner, name, f"SELECT count(pg_terminate_backend(pid)) {others}")
    await pool.give_back(name)
    assert pool.replaced == 1
    again = await pool.take()
    await pool.give_back(again)
    assert pool.replaced == 1
    assert await pool.take() != again


@pytest.mark.anyio
async def test_closing_leaves_no_database(postgres_server: EmbeddedServer) -> None:
    """A pool that is closed has dropped its databases and its template, also those in use; asked to, it leaves them."""
    before = await databases(postgres_server)
    pool = await open_pool(postgres_server.logins, build, SETTINGS, SystemClock())
    name = await pool.take()
    assert await databases(postgres_server) == before | {name, pool.template}
    session = await connect(postgres_server.logins.app, name)
    await pool.close(drop=False)
    assert await databases(postgres_server) == before | {name, pool.template}
    await pool.close()
    await session.close()
    assert await databases(postgres_server) == before


@pytest.mark.anyio
async def test_a_template_that_cannot_be_filled_leaves_nothing(postgres_server: EmbeddedServer) -> None:
    """A mistake in what fills the template is a provider fault with the server's reason, and no database stays."""
    before = await databases(postgres_server)

    async def wrong(login: Login, database: str) -> None:
        await run(login, database, "INSERT INTO nowhere VALUES (1)")

    with pytest.raises(ProviderFault, match='template could not be made: relation "nowhere" does not exist'):
        await open_pool(postgres_server.logins, wrong, SETTINGS, SystemClock())
    assert await databases(postgres_server) == before


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_a_provider_fault(postgres_server: EmbeddedServer, tmp_path: Path) -> None:
    """A server that cannot be reached, or that refuses the password, is told in one sentence without the password."""
    logins = postgres_server.logins
    for owner in (replace(logins.owner, host=str(tmp_path)), replace(logins.owner, password="wrong-word")):
        with pytest.raises(ProviderFault, match="the server cannot be reached") as caught:
            await open_pool(replace(logins, owner=owner), build, SETTINGS, SystemClock())
        assert "wrong-word" not in str(caught.value)


@pytest.mark.anyio
async def test_what_a_killed_run_left_goes_with_the_next(postgres_server: EmbeddedServer) -> None:
    """A run that is killed leaves its databases on a server that lives on; the next run's pool removes them."""
    before = await databases(postgres_server)
    command = [sys.executable, "-c", PARENT, str(postgres_server.directory), str(postgres_server.port)]
    async with await anyio.open_process(command) as parent:
        assert parent.stdout is not None
        said = await BufferedByteReceiveStream(parent.stdout).receive_until(b"\n", 1_000)
        left = set(said.decode().split())
        parent.kill()
    assert len(left) == 2
    assert left <= await databases(postgres_server)
    with anyio.fail_after(10):
        while await databases(postgres_server) != before:  # the server needs a moment to see that nobody is there
            await (await open_pool(postgres_server.logins, build, SETTINGS, SystemClock())).close()
