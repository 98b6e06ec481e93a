"""Connections for the sql channel: one engine a server, one connection a reading, none that is kept.

Databases come and go with trials, so a pool would hold on to what is gone. What is worth keeping is SQLAlchemy's
knowledge of the server, which is the same for all its databases; so the engine of a server opens, in each thread, the
database that this thread asks for.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from spec.libraries import silence

silence("sqlalchemy", "psycopg")

ENGINES_MAX: Final = 64


class Engines:
    """Engines by server, at most ``ENGINES_MAX``; safe for threads."""

    def __init__(self) -> None:
        self._engines: OrderedDict[tuple[object, ...], Engine] = OrderedDict()
        self._lock = threading.Lock()
        self._wanted = threading.local()

    @contextmanager
    def connection(self, url: URL, options: Mapping[str, Any]) -> Iterator[Connection]:
        """A connection of its own to a database; closed, and everything in it rolled back, at the end.

        Args:
            url: the database.
            options: what the driver's ``connect`` is given besides.
        """
        engine = self._engine(url)
        arguments, keywords = engine.dialect.create_connect_args(url)
        self._wanted.connect = lambda: engine.dialect.connect(*arguments, **{**keywords, **options})
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            self._wanted.connect = None

    def _engine(self, url: URL) -> Engine:
        key = (url.drivername, url.username, url.password, url.host, url.port, *sorted(url.query.items()))
        with self._lock:
            engine = self._engines.get(key)
            if engine is None:
                engine = self._engines[key] = create_engine(url, poolclass=NullPool, creator=self._open)
            self._engines.move_to_end(key)
            while len(self._engines) > ENGINES_MAX:
                self._engines.popitem(last=False)  # it holds no connection
        return engine

    def _open(self) -> Any:  # noqa: ANN401 - every driver has a connection of its own type
        return self._wanted.connect()

    def close(self) -> None:
        """Forget all servers."""
        with self._lock:
            for engine in self._engines.values():
                engine.dispose()
            self._engines.clear()


def engine_problem(error: Exception) -> str:
    """Why SQLAlchemy knows no engine for a URL, as a clause without the URL."""
    if isinstance(error, NoSuchModuleError):
        return "SQLAlchemy knows no such database"
    if isinstance(error, ModuleNotFoundError):
        return f"its driver {error.name!r} is not installed"
    return "it is no database URL" if isinstance(error, ArgumentError) else "it cannot be used"
