"""Writes rows by a connection of its own; tables and columns are asked of the database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    Table,
    and_,
    create_engine,
    delete,
    insert,
    select,
    true,
    update,
)
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from spec.canonical import Json, JsonObject
from spec.errors import ProviderFault

T = TypeVar("T")

_SAMPLES: Mapping[type, Any] = {
    bool: False,
    int: 1,
    float: 1.0,
    Decimal: Decimal(1),
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    date: date(2026, 1, 1),
    bytes: b"x",
}


class DatabaseWriter:
    """Writes to a trial's database.

    Args:
        values: of the trial: ``database_path``, or ``database_dsn`` with the login of the tools.
    """

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._engine: Engine = _engine(values)
        self._known: MetaData | None = None

    def tables(self) -> Sequence[str]:
        """Every table."""
        return tuple(self._run(lambda _: tuple(self._schema().tables)))

    def insert(self, table: str, record: JsonObject) -> None:
        """Add a row; columns that must have a value get one, of a row that it refers to where it does."""
        chosen = self._table(table)

        def work(connection: Connection) -> None:
            row = {name: value for name, value in record.items() if name in chosen.columns}
            for column in chosen.columns:
                if row.get(column.name) is None and _needs_value(column):
                    row[column.name] = _some_value(column, connection)
            connection.execute(insert(chosen).values(row))

        self._run(work)

    def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place."""
        chosen = self._table(table)
        known = {name: value for name, value in fields.items() if name in chosen.columns}
        return self._run(
            lambda connection: connection.execute(update(chosen).where(_has(chosen, match)).values(known)).rowcount
        )

    def delete(self, table: str, match: JsonObject) -> int:
        """Remove rows."""
        chosen = self._table(table)
        return self._run(lambda connection: connection.execute(delete(chosen).where(_has(chosen, match))).rowcount)

    def _table(self, name: str) -> Table:
        self.tables()
        found = self._schema().tables.get(name)
        if found is None:
            raise ProviderFault(f"the database has no table {name!r}")
        return found

    def _schema(self) -> MetaData:
        if self._known is None:
            self._known = MetaData()
            self._known.reflect(self._engine)
        return self._known

    def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._engine.begin() as connection:
                return work(connection)
        except SQLAlchemyError as error:
            raise ProviderFault(f"the database refuses it: {type(error).__name__}") from error


def _engine(values: Mapping[str, Json]) -> Engine:
    if "database_path" in values:
        return create_engine(f"sqlite:///{values['database_path']}", poolclass=NullPool)
    import psycopg

    dsn = str(values["database_dsn"])
    return create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn), poolclass=NullPool)


def _has(table: Table, match: JsonObject) -> Any:  # noqa: ANN401 - an expression of SQLAlchemy
    unknown = [name for name in match if name not in table.columns]
    if unknown:
        raise ProviderFault(f"{table.name} has no column {unknown[0]!r}")
    return and_(true(), *(table.columns[name].is_not_distinct_from(value) for name, value in match.items()))


def _needs_value(column: Column[Any]) -> bool:
    counts = column.primary_key and _python_type(column) is int
    return not (column.nullable or counts or column.server_default is not None)


def _some_value(column: Column[Any], connection: Connection) -> Any:  # noqa: ANN401 - of the column's type
    for key in column.foreign_keys:
        return connection.execute(select(key.column).limit(1)).scalar()
    return _SAMPLES.get(_python_type(column), secrets.token_hex(4))


def _python_type(column: Column[Any]) -> type:
    with suppress(Exception):  # a type of the database's own may stand for none of Python's
        return column.type.python_type
    return str
