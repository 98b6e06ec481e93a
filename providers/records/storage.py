"""The seam between the application and the databases that it can stand on.

Two sides meet in a database's URL. In a worker a ``Storage`` makes a fresh database for a trial and reads it for the
product's verifiers; in the service process an ``Access`` carries out one unit of work in the database that a request
belongs to. A database system is one implementation of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from sqlalchemy import Connection, RowMapping, insert

from providers.records.tables import EXTRAS, METADATA
from spec.canonical import content_digest
from spec.reading import Record, Tables

T = TypeVar("T")


@dataclass(frozen=True)
class Template:
    """How a database looks when it is fresh; equal templates, equal databases.

    Attributes:
        rows: table -> rows; ids that count by themselves are left out.
        extras: names of ``tables.EXTRAS`` that are built in.
    """

    rows: Mapping[str, Sequence[Record]]
    extras: Sequence[str] = ()

    @cached_property
    def name(self) -> str:
        """A text that is equal for equal templates and fits into a file's or a database's name."""
        plain = [{table: [dict(row) for row in rows] for table, rows in self.rows.items()}, list(self.extras)]
        return content_digest(plain).removeprefix("sha256:")[:24]


def fill(connection: Connection, template: Template) -> None:
    """Make tables, extras and rows in an empty database; the caller commits."""
    METADATA.create_all(connection)
    for name, rows in template.rows.items():
        if rows:
            connection.execute(insert(METADATA.tables[name]), [dict(row) for row in rows])
    for extra in template.extras:
        for statement in EXTRAS[extra][connection.dialect.name]:
            connection.exec_driver_sql(statement)


def plain(row: RowMapping) -> dict[str, Any]:
    """A row with names that are plain texts: SQLAlchemy has a kind of its own for some."""
    return {str(name): value for name, value in row.items()}


class Stored(NamedTuple):
    """One trial's database.

    Attributes:
        url: for the service, as SQLAlchemy writes it; may carry a password.
        read_where: the ``where`` of channel ``sql`` that finds it, without a password.
        handle: whatever its storage needs to give it back.
    """

    url: str
    read_where: Mapping[str, Any]
    handle: object


class Storage(Protocol):
    """The worker's side."""

    async def open(self, template: Template) -> Stored:
        """A fresh database.

        Raises:
            spec.errors.ProviderFault: there is none to be had.
        """

    async def read(self, stored: Stored, tables: Sequence[str]) -> Tables:
        """Tables of a database by a read-only connection of its own, at one moment."""

    async def write(self, stored: Stored, work: Callable[[Connection], T]) -> T:
        """Carry out work around the application, in one transaction; only an audit does."""

    async def release(self, stored: Stored) -> None:
        """Give a database back; never raises for one that is gone."""

    async def close(self) -> None:
        """Give back everything."""


class Access(Protocol):
    """The service's side."""

    async def run(self, url: str, work: Callable[[Connection], T], *, commit: bool = True) -> T:
        """Carry out work in one transaction; ``commit=False`` takes it back at the end.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database refuses it, or is gone.
        """

    def close(self) -> None:
        """Give the connections back."""
