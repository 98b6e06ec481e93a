"""A template's rows and sequences, and how a used database is put back to them without being made anew.

Every prepared database is a copy of its template, down to the numbers in its catalogues. So a database whose tables,
functions, triggers or rights were changed in a trial is told by one digest, and its rows go back by ``COPY``: what
stood in the template is what stands there again, whatever functions had made it.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

from psycopg import AsyncConnection, sql
from psycopg.rows import TupleRow

from spec.errors import ProviderFault

Connection = AsyncConnection[TupleRow]

IMAGE_BYTES_MAX: Final = 256 * 1024 * 1024
"""What a template may hold, as text: it is kept in memory and written again for every trial."""

_MAY_SILENCE: Final = """
SELECT rolsuper OR (current_setting('server_version_num')::int >= 150000
    AND has_parameter_privilege('session_replication_role', 'SET')) FROM pg_roles WHERE rolname = current_user
"""
_MAY_SILENCE_OLD: Final = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
_PARAMETER_RIGHTS: Final = 150_000
"""Servers from this version on can let a role that is no superuser set such a parameter."""

_TABLES: Final = """
SELECT c.oid::int8, format('%%I.%%I', n.nspname, c.relname), c.relkind = 'r',
    (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
     WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''),
    EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = ANY(%s) AND c.relpersistence <> 't' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')
ORDER BY c.oid
"""
_REFERENCES: Final = """
SELECT conrelid::int8, confrelid::int8 FROM pg_constraint WHERE contype = 'f' AND conrelid <> confrelid
"""

_WHOLE_ROWS: Final = (
    *("pg_attrdef", "pg_constraint", "pg_enum", "pg_extension", "pg_policy", "pg_proc", "pg_rewrite"),
    *("pg_trigger", "pg_type", "pg_default_acl"),
)
_WHOLE_ROW: Final = "SELECT '@' || t::text AS line FROM @ t WHERE oid >= 16384"
_SHAPE: Final = " UNION ALL ".join(
    [
        *(_WHOLE_ROW.replace("@", name) for name in _WHOLE_ROWS),
        "SELECT 'column' || t::text FROM pg_attribute t WHERE attrelid >= 16384",
        "SELECT 'sequence' || t::text FROM pg_sequence t WHERE seqrelid >= 16384",
        """SELECT 'relation' || (oid, relname, relnamespace, relowner, relkind, relnatts, relhasrules, relhastriggers,
        relrowsecurity, relforcerowsecurity, relacl)::text FROM pg_class WHERE oid >= 16384""",
        "SELECT 'schema' || t::text FROM pg_namespace t WHERE nspname !~ '^pg_(toast_)?temp_'",
        "SELECT 'large object' || oid FROM pg_largeobject_metadata",
        """SELECT 'setting' || setrole || setconfig::text FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())""",
    ]
)
"""Everything that somebody made has a number from 16384 on; what is below came with the server."""
_DIGEST: Final = f"SELECT md5(string_agg(line, '' ORDER BY line)) FROM ({_SHAPE}) shape"  # noqa: S608 - constants


class _Table(NamedTuple):
    oid: int
    name: str
    """Quoted, with its schema."""
    stored: bool
    """Whether it has rows of its own; a partitioned table has not."""
    columns: str | None
    triggers: bool


class _Sequence(NamedTuple):
    name: str
    last: int
    called: bool


class Image(NamedTuple):
    """What a database of a template holds when it is fresh; made by ``take_image``."""

    digest: str
    rows: tuple[tuple[str, bytes], ...]
    """The ``COPY`` statement of each table that has rows, with them, in an order that references allow."""
    restart: str
    """One statement that sets every sequence; empty where there is none."""
    before: tuple[str, ...]
    after: tuple[str, ...]


async def take_image(connection: Connection, bytes_max: int = IMAGE_BYTES_MAX) -> Image:
    """Read a template whole.

    Args:
        connection: the owner's, in the template; in a transaction of its own.
        bytes_max: what its rows may hold, as text.

    Raises:
        ProviderFault: it holds more, or its tables refer to each other in a circle that this role cannot fill.
    """
    tables = [_Table(*row) for row in await _rows(connection, _TABLES, [["r", "p"]])]
    silent = await _may_silence(connection)
    if not silent:
        tables = _in_order(tables, await _rows(connection, _REFERENCES))
    rows: list[tuple[str, bytes]] = []
    for table in tables:
        if table.stored and (
            body := await _copy_out(connection, table, bytes_max - sum(len(text) for _, text in rows))
        ):
            rows.append((f"COPY {table.name} ({table.columns or ''}) FROM STDIN", body))
    views = [f"REFRESH MATERIALIZED VIEW {row[1]}" for row in await _rows(connection, _TABLES, [["m"]])]
    noisy = [] if silent else [table.name for table in tables if table.triggers]
    truncate = [f"TRUNCATE {', '.join(table.name for table in tables)} RESTART IDENTITY CASCADE"] if tables else []
    return Image(
        await digest_of(connection),
        tuple(rows),
        await _restart(connection),
        (
            *(["SET LOCAL session_replication_role = replica"] if silent else []),
            *(f"ALTER TABLE {name} DISABLE TRIGGER USER" for name in noisy),
            *truncate,
        ),
        (*(f"ALTER TABLE {name} ENABLE TRIGGER USER" for name in noisy), *views),
    )


async def restore(connection: Connection, image: Image, *, shape_checked: bool = True) -> None:
    """Put a database back to its image, in one transaction.

    Args:
        connection: the owner's, in that database; nobody else is in it.
        image: of its template.
        shape_checked: also look for changes that are no rows; takes a third of the time.

    Raises:
        ProviderFault: its tables, functions or rights are no longer those of the template.
        psycopg.Error: the server refuses a step.
    """
    async with connection.transaction():
        if shape_checked and await digest_of(connection) != image.digest:
            raise ProviderFault("tables, functions, triggers or rights of a database were changed in its trial")
        await _run(connection, "; ".join(image.before))
        async with connection.cursor() as cursor:
            for statement, body in image.rows:
                async with cursor.copy(_trusted(statement)) as copy:
                    await copy.write(body)
        await _run(connection, "; ".join((*image.after, *([image.restart] if image.restart else []))))


async def digest_of(connection: Connection) -> str:
    """A digest of everything in a database but its rows; equal for every copy of a template."""
    return str((await _rows(connection, _DIGEST))[0][0])


async def _may_silence(connection: Connection) -> bool:
    """Whether this role may keep triggers and references quiet while it writes."""
    new = connection.info.server_version >= _PARAMETER_RIGHTS
    return bool((await _rows(connection, _MAY_SILENCE if new else _MAY_SILENCE_OLD))[0][0])


def _in_order(tables: list[_Table], references: list[TupleRow]) -> list[_Table]:
    """Every table behind those that it refers to."""
    by_oid = {table.oid: table for table in tables}
    graph: dict[int, set[int]] = {oid: set() for oid in by_oid}
    for referring, referred in references:
        graph[referring].add(referred)
    try:
        return [by_oid[oid] for oid in TopologicalSorter(graph).static_order() if oid in by_oid]
    except CycleError as error:
        circle = ", ".join(by_oid[oid].name for oid in error.args[1][1:] if oid in by_oid)
        raise ProviderFault(
            f"the tables {circle} refer to each other in a circle, and this role cannot fill them again; on PostgreSQL"
            " 15 and later, GRANT SET ON PARAMETER session_replication_role to it"
        ) from error


async def _copy_out(connection: Connection, table: _Table, bytes_max: int) -> bytes:
    body = bytearray()
    statement = f"COPY {table.name} ({table.columns or ''}) TO STDOUT"
    async with connection.cursor() as cursor, cursor.copy(_trusted(statement)) as copy:
        async for block in copy:
            body += block
            if len(body) > bytes_max:
                raise ProviderFault("the template holds too much to be written again for every trial; keep it small")
    return bytes(body)


async def _restart(connection: Connection) -> str:
    names = [row[1] for row in await _rows(connection, _TABLES, [["S"]])]
    if not names:
        return ""
    each = [f"SELECT {_literal(name)}, last_value, is_called FROM {name}" for name in names]  # noqa: S608 - quoted
    found = [_Sequence(*row) for row in await _rows(connection, " UNION ALL ".join(each))]
    calls = [f"setval({_literal(each.name)}, {each.last}, {str(each.called).lower()})" for each in found]
    return f"SELECT {', '.join(calls)}"


async def _rows(connection: Connection, statement: str, values: list[object] | None = None) -> list[TupleRow]:
    return await (await connection.execute(_trusted(statement), values)).fetchall()


async def _run(connection: Connection, statements: str) -> None:
    if statements:
        await connection.execute(_trusted(statements))


def _literal(text: str) -> str:
    return sql.Literal(text).as_string()


def _trusted(statement: str) -> sql.SQL:
    """A statement that is made of constants and of names that the server has quoted."""
    return sql.SQL(statement)
