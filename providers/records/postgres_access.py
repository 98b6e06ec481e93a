"""Connections to PostgreSQL for the service and for verifiers: kept from one unit of work to the next of a trial.

A database has a name that no other trial ever had, so a connection that is kept belongs to one trial. When that one is
over the server has ended it, and here it goes when others need its place. Work runs in threads, since a request may
have to wait for another one's lock.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from anyio import CapacityLimiter, to_thread
from sqlalchemy import Connection, Engine, create_engine, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from spec.libraries import silence

silence("sqlalchemy", "psycopg")

CONNECTIONS_KEPT_MAX: Final = 64
THREADS_MAX: Final = 16
STATEMENT_DEADLINE_MS: Final = 30_000
READING: Final = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
"""One moment for all statements, and no writing."""

T = TypeVar("T")


class PostgresAccess:
    """The service's side (``providers.records.storage.Access``).

    Args:
        options: what SQLAlchemy makes of every connection, such as ``READING``.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self._options = options or {}
        self._engine: Engine = create_engine("postgresql+psycopg://", creator=self._open, poolclass=NullPool)
        self._wanted = threading.local()
        self._kept: OrderedDict[tuple[str, int], Connection] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = CapacityLimiter(THREADS_MAX)

    async def run(self, url: str, work: Callable[[Connection], T], *, commit: bool = True) -> T:
        """One transaction; a database that is gone is an error."""
        return await to_thread.run_sync(partial(self._run, url, work, commit), limiter=self._threads)

    def close(self) -> None:
        """Close what is kept."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), OrderedDict()
        for connection in kept:
            _close(connection)
        self._engine.dispose()

    def _run(self, url: str, work: Callable[[Connection], T], commit: bool) -> T:
        connection = self._kept_for(url) or self._connect(url)
        try:
            answer = work(connection)
            if commit:
                connection.commit()
            else:
                connection.rollback()
        except BaseException:
            _close(connection)
            raise
        self._keep(url, connection)
        return answer

    def _kept_for(self, url: str) -> Connection | None:
        with self._lock:
            found = next((key for key in self._kept if key[0] == url), None)
            return None if found is None else self._kept.pop(found)

    def _keep(self, url: str, connection: Connection) -> None:
        with self._lock:
            self._kept[url, id(connection)] = connection
            last = self._kept.popitem(last=False)[1] if len(self._kept) > CONNECTIONS_KEPT_MAX else None
        if last is not None:
            _close(last)

    def _connect(self, url: str) -> Connection:
        self._wanted.url = make_url(url)
        connection = self._engine.connect()
        return connection.execution_options(**self._options) if self._options else connection

    def _open(self) -> Any:  # noqa: ANN401 - the driver's own type
        dialect = self._engine.dialect
        arguments, keywords = dialect.create_connect_args(self._wanted.url)
        limit = f"-c statement_timeout={STATEMENT_DEADLINE_MS}"
        return dialect.connect(*arguments, **{**keywords, "options": limit, "prepare_threshold": None})


def _close(connection: Connection) -> None:
    try:
        connection.invalidate()
        connection.close()
    except SQLAlchemyError:
        return  # it was gone already
