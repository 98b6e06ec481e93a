"""The service's databases of every kind, told apart by their URL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from sqlalchemy import Connection, make_url

from providers.records.postgres_access import PostgresAccess
from providers.records.sqlite import SqliteAccess
from providers.records.storage import Access

T = TypeVar("T")

ACCESSES: Final[Mapping[str, Callable[[], Access]]] = {"sqlite": SqliteAccess, "postgresql": PostgresAccess}
"""Backend name of a URL -> the access that is made for it when it is first met."""


class Accesses:
    """Passes work on to the access of its URL's kind (``providers.records.storage.Access``)."""

    def __init__(self) -> None:
        self._made: dict[str, Access] = {}

    async def run(self, url: str, work: Callable[[Connection], T], *, commit: bool = True) -> T:
        """Carry out work in the database that the URL names."""
        kind = make_url(url).get_backend_name()
        access = self._made.get(kind) or self._made.setdefault(kind, ACCESSES[kind]())
        return await access.run(url, work, commit=commit)

    def close(self) -> None:
        """Give every connection back."""
        for access in self._made.values():
            access.close()
