"""What the sql channel knows of each database: how it is held to reading, and which tables are in it.

That a reading changes nothing is not a matter of looking at statements: the database itself is put into a mode in
which it refuses writes, and is asked whether it is in it. A database for which that cannot be done is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, unquote

from sqlalchemy import URL, Connection, inspect
from sqlalchemy.types import JSON, Boolean

from oracle.channels.exact_json import parse_json
from oracle.channels.failing import NoReading
from oracle.channels.plain import Converters
from oracle.channels.sql_engines import Engines
from oracle.channels.threads import Leash

SCHEMAS_MAX: Final = 64
STEPS: Final = 20_000
"""Steps of SQLite's machine between two looks at the clock; some milliseconds."""

_NO_CONVERTERS: Final[Converters] = {}


class Limits(NamedTuple):
    """How long the sql channel waits.

    Attributes:
        connect_s: for a connection, or for a lock on the database.
        statement_s: for one statement.
        reading_s: for the whole of a reading.
    """

    connect_s: float = 5.0
    statement_s: float = 30.0
    reading_s: float = 60.0


class Table(NamedTuple):
    """A table of a database.

    Attributes:
        name: as the record calls it.
        statement: reads all of its rows.
        converters: see ``oracle.channels.plain``.
    """

    name: str
    statement: str
    converters: Converters = _NO_CONVERTERS


class Database(Protocol):
    """One kind of database."""

    def snapshot(self, engines: Engines, url: URL, leash: Leash, limits: Limits) -> Any:  # noqa: ANN401 - see below
        """A context manager with a connection that cannot write and sees one moment."""

    def tables(self, connection: Connection) -> Sequence[Table]:
        """Every table with rows of its own, and no view."""


def quoted(*names: str) -> str:
    """A name as SQL writes it, whatever it holds."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


class Sqlite:
    """SQLite files: opened with ``mode=ro``, ``query_only`` on, read in one transaction."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, str], ...], Sequence[Table]] = {}

    @contextmanager
    def snapshot(self, engines: Engines, url: URL, leash: Leash, limits: Limits) -> Iterator[Connection]:
        """One deferred transaction: the first statement fixes what all of them see."""
        options = {"timeout": limits.connect_s, "isolation_level": None, "check_same_thread": False}
        with engines.connection(_only_reading(url), options) as connection:
            raw: Any = connection.connection.dbapi_connection
            raw.set_progress_handler(leash.is_over, STEPS)
            connection.exec_driver_sql("PRAGMA query_only = 1")
            if connection.exec_driver_sql("PRAGMA query_only").scalar() != 1:
                raise NoReading("SQLite does not hold this connection to reading")
            connection.exec_driver_sql("BEGIN")
            yield connection

    def tables(self, connection: Connection) -> Sequence[Table]:
        """Those of the file's schema. Columns are reflected once for every schema, known by its own text."""
        found = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        )
        schema = tuple((str(name), str(sql)) for name, sql in found)
        known = self._known.get(schema)
        if known is None:
            if len(self._known) >= SCHEMAS_MAX:
                self._known.clear()
            known = self._known[schema] = [_sqlite_table(connection, name) for name, _ in schema]
        return known


def _only_reading(url: URL) -> URL:
    """The address of the file in a form that SQLite opens for reading only."""
    name = url.database or ""
    if name.startswith("file:"):
        name = unquote(name.removeprefix("file:").partition("?")[0])
    if name in ("", ":memory:") or url.query.get("mode") == "memory":
        raise NoReading("a SQLite database in memory cannot be read from outside of its process")
    if not Path(name).is_file():
        raise NoReading(f"there is no SQLite file {name}")
    return url.set(database="file:" + quote(name), query={"mode": "ro", "uri": "true"})


def _sqlite_table(connection: Connection, name: str) -> Table:
    converters = {}
    for place, column in enumerate(inspect(connection).get_columns(name)):
        if isinstance(column["type"], Boolean):
            converters[place] = _boolean
        elif isinstance(column["type"], JSON):
            converters[place] = _json
    return Table(name, f"SELECT * FROM {quoted(name)}", converters)  # noqa: S608 - the name is quoted


def _boolean(value: object) -> object:
    """SQLite has no truth values and keeps 0 and 1 in their place."""
    return bool(value) if type(value) is int and value in (0, 1) else value


def _json(value: object) -> object:
    """SQLite keeps JSON as text; what is none, or has a member twice, stays the text that it is."""
    try:
        return parse_json(value.encode()) if isinstance(value, str) else value
    except ValueError:
        return value


class Postgres:
    """PostgreSQL through psycopg: every transaction of the session is read only, and the one sees one moment."""

    @contextmanager
    def snapshot(self, engines: Engines, url: URL, leash: Leash, limits: Limits) -> Iterator[Connection]:
        """One transaction, REPEATABLE READ and READ ONLY, in a session that has no other kind."""
        if url.get_driver_name() != "psycopg":
            raise NoReading(f"PostgreSQL is read through the driver psycopg, not {url.get_driver_name()}")
        from oracle.channels.postgres_values import SETTINGS, read_exactly  # the driver may not be installed

        settings = {
            "default_transaction_read_only": "on",
            "statement_timeout": f"{limits.statement_s * 1000:.0f}",
            "lock_timeout": f"{limits.connect_s * 1000:.0f}",
            "idle_in_transaction_session_timeout": f"{limits.reading_s * 1000:.0f}",
            **SETTINGS,
        }
        asked = url.query.get("options", ())
        options = " ".join([*([asked] if isinstance(asked, str) else asked), *_options(settings)])
        driver = {"options": options, "connect_timeout": max(2, round(limits.connect_s))}
        with engines.connection(url, driver) as plain:
            driven: Any = plain.connection.driver_connection
            read_exactly(driven)
            connection = plain.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            held = connection.exec_driver_sql(
                "SELECT current_setting('transaction_read_only'), current_setting('transaction_isolation'),"
                " current_setting('default_transaction_read_only')"
            ).one()
            if tuple(held) != ("on", "repeatable read", "on"):
                raise NoReading("PostgreSQL does not hold this connection to reading")
            yield connection

    def tables(self, connection: Connection) -> Sequence[Table]:
        """Those of all schemas but the system's; a partitioned table has its rows, and its partitions are left out."""
        found = connection.exec_driver_sql(
            "SELECT n.nspname, c.relname, c.relkind = 'p', n.nspname = coalesce(current_schema(), 'public')"
            " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'"
            " AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'"
            " ORDER BY n.nspname, c.relname"
        )
        tables = []
        for schema, name, parted, near in found:
            only = "" if parted else "ONLY "
            statement = f"SELECT * FROM {only}{quoted(schema, name)}"  # noqa: S608 - the names are quoted
            tables.append(Table(name if near else f"{schema}.{name}", statement))
        return tables


def _options(settings: Mapping[str, str]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"-c {name}={value}"


def databases() -> Mapping[str, Database]:
    """Name of SQLAlchemy's dialect -> the database; made anew for every channel."""
    return {"sqlite": Sqlite(), "postgresql": Postgres()}
