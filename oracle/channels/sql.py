"""Channel ``sql``: a record in a database, read whole at one moment by a connection that cannot write.

A read path says ``url`` (any SQLAlchemy URL, without a password) or ``url_env``, and ``password_env`` or
``password_file``. Without more it is the whole database: every table and no view, but those of ``except``. With
``queries`` (table -> one SELECT) it is what they answer; what is no single reading statement is refused by the
database, which is in a read-only mode. ``template`` may name databases of one schema; nothing depends on it.

SQLAlchemy works in threads, so that a database that is slow holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final
from urllib.parse import unquote

import anyio
from sqlalchemy import URL, Connection, CursorResult, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.credentials import credential
from oracle.channels.failing import NoReading, failed
from oracle.channels.plain import plain_rows
from oracle.channels.sql_dialects import Database, Limits, Table, databases
from oracle.channels.sql_engines import Engines, engine_problem
from oracle.channels.threads import Leash, read_in_threads
from oracle.rows import StoreFull, kept_rows
from spec.canonical import JsonObject
from spec.reading import ChannelName, ReadPath, Record, Tables
from spec.values import NotJson

THREADS_MAX: Final = 8
FETCH_ROWS: Final = 1000
STATEMENT_CHARS_MAX: Final = 100_000
_KNOWN: Final = ("url", "url_env", "password_env", "password_file", "except", "queries", "template")
_PASSWORDS: Final = ("password", "sslpassword", "passwd")
"""Parts of a URL's query that are passwords too."""


class SqlChannel:
    """Reads databases (``oracle.base.Channel``).

    Args:
        context: its credentials are the passwords and URLs that a read path names.
        limits: how long is waited.
    """

    name: str = ChannelName.SQL.value
    batches: bool = False

    def __init__(self, context: ChannelContext, limits: Limits = Limits()) -> None:  # noqa: B008 - it is immutable
        self._credentials, self._limits = context.credentials, limits
        self._threads = anyio.CapacityLimiter(THREADS_MAX)
        self._engines, self._databases = Engines(), databases()

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each; answers in order."""
        return await read_in_threads(paths, self._read, self._threads, self._limits.reading_s)

    async def close(self) -> None:
        """Forget the servers; no connection is open."""
        self._engines.close()

    def _read(self, where: JsonObject, leash: Leash) -> Tables | ReadFailed:
        secrets: list[str] = []
        try:
            url = _url(where, self._credentials, secrets)
            return self._read_database(url, where, leash)
        except DBAPIError as error:
            return failed(NoReading(_told_by_driver(error, leash)), secrets=secrets)
        except Exception as error:  # noqa: BLE001 - a record that cannot be read is a value, whatever the reason
            return failed(error, "the database", secrets)

    def _read_database(self, url: URL, where: JsonObject, leash: Leash) -> Tables:
        database = self._databases.get(url.get_backend_name())
        if database is None:
            known = " and ".join(self._databases)
            raise NoReading(f"a {url.get_backend_name()} cannot be held to reading; this channel reads {known}")
        try:
            opened = database.snapshot(self._engines, url, leash, self._limits)
            with opened as connection:
                return {table.name: _rows(connection, table, leash) for table in _wanted(database, connection, where)}
        except ModuleNotFoundError as error:
            raise NoReading(engine_problem(error)) from None


def _url(where: JsonObject, credentials: Mapping[str, str], secrets: list[str]) -> URL:
    """The database with the password; whatever must not be shown is added to ``secrets``."""
    unknown = [name for name in where if name not in _KNOWN]
    if unknown:
        raise NoReading(f"a read path of channel sql has no {unknown[0]!r}; it has {', '.join(_KNOWN)}")
    text, private = where.get("url"), credential(where, "url", credentials)
    if (text is None) == (private is None):
        raise NoReading("a read path of channel sql needs either url or url_env")
    if private is not None:
        secrets.append(private)
    try:
        url = make_url(str(text if private is None else private))
        url.get_dialect()
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise NoReading(f"the URL of the database: {engine_problem(error)}") from None
    inside = [str(url.password or ""), *(str(url.query[name]) for name in _PASSWORDS if name in url.query)]
    if any(inside):
        secrets += inside
        if private is None:
            raise NoReading("the url of a read path must have no password: name it by password_env or password_file")
    if private is not None:
        secrets += [url.database or "", unquote(url.database or "")]
    password = credential(where, "password", credentials)
    if password is None:
        return url
    secrets.append(password)
    return url.set(password=password)


def _wanted(database: Database, connection: Connection, where: JsonObject) -> Sequence[Table]:
    """The tables that the read path asks for."""
    queries, left_out = where.get("queries"), where.get("except", [])
    if not isinstance(left_out, list | tuple) or not all(isinstance(name, str) for name in left_out):
        raise NoReading("except of a read path must be a list of tables")
    if queries is not None:
        return _queries(queries, left_out)
    tables = [table for table in database.tables(connection) if table.name not in left_out]
    if len({table.name for table in tables}) < len(tables):
        raise NoReading("two tables of the database have the same name")
    return tables


def _queries(queries: object, left_out: Sequence[object]) -> Sequence[Table]:
    if left_out:
        raise NoReading("a read path has either queries or except")
    if not isinstance(queries, Mapping) or not queries:
        raise NoReading("queries of a read path must be an object: table -> one SELECT")
    for name, statement in queries.items():
        if not isinstance(statement, str) or not 0 < len(statement) <= STATEMENT_CHARS_MAX:
            raise NoReading(f"the query of table {name!r} is no statement")
    return [Table(name, statement) for name, statement in queries.items()]


def _rows(connection: Connection, table: Table, leash: Leash) -> Sequence[Record]:
    """All rows of a table, fetched in parts; many of them go to disk."""
    leash.check()
    try:
        options = {"no_parameters": True, "yield_per": FETCH_ROWS}
        with closing(connection.exec_driver_sql(table.statement, execution_options=options)) as result:
            if not result.returns_rows:
                raise NoReading("it is no SELECT: the statement answers with no rows")
            names = list(result.keys())
            if len(set(names)) < len(names):
                raise NoReading("two of its columns have the same name")
            return kept_rows(_parts(result, names, table, leash))
    except (NoReading, NotJson, StoreFull) as error:
        raise NoReading(f"table {table.name!r}: {error}") from None
    except DBAPIError as error:
        raise NoReading(f"table {table.name!r}: {_told_by_driver(error, leash)}") from None


def _parts(result: CursorResult[Any], names: Sequence[str], table: Table, leash: Leash) -> Iterator[Sequence[Record]]:
    for part in result.partitions(FETCH_ROWS):
        leash.check()
        yield plain_rows(names, part, table.converters)


def _told_by_driver(error: DBAPIError, leash: Leash) -> str:
    """The first line of what the driver says: behind it may stand the statement, and before it nothing helps."""
    if leash.is_over():
        return leash.reason
    original: Any = error.orig
    lines = str(original).strip().splitlines()
    return lines[0] if lines else type(original).__name__
