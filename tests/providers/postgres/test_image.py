from __future__ import annotations

from collections.abc import AsyncIterator

import psycopg
import pytest

from providers.postgres import EmbeddedServer
from providers.postgres.databases import connect
from providers.postgres.image import Connection, digest_of, restore, take_image
from spec.errors import ProviderFault
from tests.providers.postgres.records import MESS, TABLES, contents

CIRCLE = """
CREATE TABLE hen (id int PRIMARY KEY, egg int);
CREATE TABLE egg (id int PRIMARY KEY, hen int REFERENCES hen);
ALTER TABLE hen ADD FOREIGN KEY (egg) REFERENCES egg;
INSERT INTO hen VALUES (1, NULL);
"""

CHANGES = [
    "CREATE TABLE other (id int)",
    "DROP TABLE log",
    "ALTER TABLE patient ADD COLUMN more text",
    "ALTER TABLE patient ALTER COLUMN name DROP NOT NULL",
    "ALTER TABLE encounter DISABLE TRIGGER note_is_logged",
    "CREATE OR REPLACE FUNCTION logged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
    "GRANT ALL ON patient TO PUBLIC",
    "CREATE OR REPLACE VIEW loud AS SELECT lower(loud) AS loud FROM patient",
    "ALTER SEQUENCE alone INCREMENT 7",
    "SELECT lo_create(0)",
    "ALTER DATABASE fresh SET timezone = 'Asia/Tokyo'",
]


@pytest.fixture
async def connection(postgres_server: EmbeddedServer, postgres_database: str) -> AsyncIterator[Connection]:
    async with await connect(postgres_server.logins.owner, postgres_database) as opened:
        yield opened


def speechless(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this role could not keep triggers and references quiet."""

    async def never(_: Connection) -> bool:
        return False

    monkeypatch.setattr("providers.postgres.image._may_silence", never)


@pytest.mark.anyio
@pytest.mark.parametrize("powerful", [True, False])
async def test_a_restored_database_is_the_one_that_was_read(
    postgres_server: EmbeddedServer, connection: Connection, monkeypatch: pytest.MonkeyPatch, powerful: bool
) -> None:
    """Rows, sequences and what is computed from them are as before, whatever rights the role has; and again."""
    if not powerful:
        speechless(monkeypatch)
    await connection.execute(TABLES)
    arguments = postgres_server.logins.owner.arguments("fresh")
    before = contents(arguments)
    image = await take_image(connection)
    for _ in range(2):
        await connection.execute(MESS)
        assert contents(arguments) != before
        await restore(connection, image)
        assert contents(arguments) == before


@pytest.mark.anyio
@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_that_is_no_row_is_seen(connection: Connection, change: str) -> None:
    """A database in which anything but rows was changed is refused, and nothing in it is touched."""
    await connection.execute(TABLES)
    image = await take_image(connection)
    await connection.execute(MESS)
    assert await digest_of(connection) == image.digest
    await connection.execute(change)
    with pytest.raises(ProviderFault, match="were changed in its trial"):
        await restore(connection, image)
    assert (await (await connection.execute("SELECT count(*) FROM empty")).fetchall()) == [(1,)]


@pytest.mark.anyio
async def test_a_circle_needs_a_right_and_says_which(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that refer to each other are put back by a role that may silence the references, else the way is named."""
    await connection.execute(CIRCLE)
    image = await take_image(connection)
    await connection.execute("INSERT INTO egg VALUES (1, 1); UPDATE hen SET egg = 1")
    await restore(connection, image)
    assert (await (await connection.execute("SELECT * FROM hen")).fetchall()) == [(1, None)]
    speechless(monkeypatch)
    with pytest.raises(ProviderFault, match=r"public\.(hen|egg).*session_replication_role"):
        await take_image(connection)


@pytest.mark.anyio
async def test_a_template_that_is_too_large_is_refused(connection: Connection) -> None:
    """What cannot be kept in memory for every trial is refused before the first one."""
    await connection.execute(
        "CREATE TABLE t (x text); INSERT INTO t SELECT repeat('x', 100) FROM generate_series(1, 20)"
    )
    assert (await take_image(connection, bytes_max=2_020)).rows
    with pytest.raises(ProviderFault, match="too much"):
        await take_image(connection, bytes_max=2_019)


@pytest.mark.anyio
async def test_an_empty_database_is_an_image_too(connection: Connection) -> None:
    """A template without tables can be read and restored."""
    await restore(connection, await take_image(connection))


@pytest.mark.anyio
async def test_a_restore_that_fails_changes_nothing(connection: Connection) -> None:
    """Where one step fails, no table is left emptied."""
    await connection.execute("CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    image = (await take_image(connection))._replace(rows=(("COPY t (x) FROM STDIN", b"no number\n"),))
    with pytest.raises(psycopg.Error, match="no number"):
        await restore(connection, image)
    assert (await (await connection.execute("SELECT x FROM t")).fetchall()) == [(1,)]
