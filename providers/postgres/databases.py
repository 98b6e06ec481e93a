"""Making and dropping databases on a server, and removing what a killed run left there."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import psycopg
from psycopg import AsyncConnection, sql

from providers.postgres.image import Connection
from providers.postgres.logins import Login, Logins
from providers.postgres.names import LIKE, RunTag, tag_of
from spec.libraries import silence

silence("psycopg")

ABANDONED_AFTER: Final = timedelta(hours=1)
"""A database whose run is gone is dropped even with sessions in it when it is older than this."""
_LEFT_MAX: Final = 1_000
"""Databases that one sweep looks at, at most."""

_SCHEMAS: Final = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'"
_LEFT: Final = """
SELECT datname, EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = d.datname)
FROM pg_database d WHERE datname LIKE %s ORDER BY datname LIMIT %s
"""
_IN_TABLES: Final = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"
_IN_SEQUENCES: Final = "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"
_READ_TABLES: Final = "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
_READ_SEQUENCES: Final = "GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO {role}"


async def connect(login: Login, database: str) -> Connection:
    """A connection whose statements each stand for themselves."""
    return await AsyncConnection.connect(**login.arguments(database), autocommit=True)


async def create_database(server: Connection, name: str, logins: Logins, template: str) -> None:
    """Make a database that the three roles may enter, and nobody else.

    Args:
        server: the owner's connection in another database.
        name: of the new one.
        logins: the roles.
        template: what it is a copy of; nobody may be in it.
    """
    database = sql.Identifier(name)
    await server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(database, sql.Identifier(template)))
    await server.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    for role in _others(logins):
        await server.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, sql.Identifier(role)))


async def rename_database(server: Connection, name: str, new: str) -> None:
    """Give a database another name; nobody is in it."""
    await server.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(new)))


async def drop_database(server: Connection, name: str, *, force: bool = True) -> None:
    """Drop a database if it is there, by default with the sessions in it."""
    how = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)" if force else "DROP DATABASE IF EXISTS {}")
    await server.execute(how.format(sql.Identifier(name)))


async def grant_rows(connection: Connection, logins: Logins) -> None:
    """Let the app write the rows of every table of a database, and the oracle read them; neither can change a table."""
    await connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # older servers let everybody
    schemas = [row[0] for row in await (await connection.execute(_SCHEMAS)).fetchall()]
    app = (_IN_TABLES, _IN_SEQUENCES) if logins.app.user in _others(logins) else ()
    oracle = (_READ_TABLES, _READ_SEQUENCES) if logins.oracle.user in _others(logins) else ()
    for schema in map(sql.Identifier, schemas):
        for login, statements in ((logins.app, app), (logins.oracle, oracle)):
            role = sql.Identifier(login.user)
            for statement in ("GRANT USAGE ON SCHEMA {schema} TO {role}", *statements) if statements else ():
                await connection.execute(sql.SQL(statement).format(schema=schema, role=role))


async def lock_run(server: Connection, run: RunTag) -> None:
    """Show that a run lives, for as long as this connection does."""
    await server.execute("SELECT pg_advisory_lock(%s)", [run.lock])


async def drop_abandoned(server: Connection, utc_now: str) -> int:
    """Drop the databases of runs that no longer hold their lock; answers how many those were.

    A database that somebody is in stays for an hour, and one that cannot be dropped stays for the next run.

    Args:
        server: the owner's connection in another database.
        utc_now: ISO 8601, as a clock gives it.
    """
    dropped = 0
    for name, used in await (await server.execute(_LEFT, [LIKE, _LEFT_MAX])).fetchall():
        run = tag_of(name)
        if run is None or (used and not _is_old(run, utc_now)):
            continue
        if not (await (await server.execute("SELECT pg_try_advisory_lock(%s)", [run.lock])).fetchall())[0][0]:
            continue
        try:
            await drop_database(server, name, force=used)
            dropped += 1
        except psycopg.Error:
            continue  # of another owner, or entered meanwhile
        finally:
            await server.execute("SELECT pg_advisory_unlock(%s)", [run.lock])
    return dropped


def _is_old(run: RunTag, utc_now: str) -> bool:
    began = datetime.strptime(f"{run.began}+0000", "%Y%m%dt%H%M%S%z")
    return datetime.fromisoformat(utc_now) - began > ABANDONED_AFTER


def _others(logins: Logins) -> list[str]:
    """The roles that are not the owner, whose rights come with the database."""
    return [name for name in dict.fromkeys((logins.app.user, logins.oracle.user)) if name != logins.owner.user]
