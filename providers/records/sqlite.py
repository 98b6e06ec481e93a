"""Records in SQLite: a file a trial, copied from a template that was filled once.

The files are thrown away with the trial, so nothing is synced and the rollback journal stays in memory. They live on a
memory file system where there is one. A statement takes microseconds there, so nothing goes to a thread.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, create_engine, make_url, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from providers.records.storage import Stored, Template, fill, plain
from providers.records.tables import METADATA
from spec.errors import ProviderFault
from spec.reading import Tables

BUSY_S: Final = 5.0
"""How long a connection waits for another one's lock."""

T = TypeVar("T")


class Files:
    """Connections to many files through one engine, so that a statement is compiled once for all of them.

    Not for threads: the file of the next connection is kept on the object.

    Args:
        mode: ``ro``, ``rw``, or ``rwc``, which makes a file that is missing.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._path = ""
        self._engine: Engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)

    @contextmanager
    def connection(self, path: str) -> Iterator[Connection]:
        """A connection to one file."""
        self._path = path
        with self._engine.connect() as connection:
            yield connection

    def close(self) -> None:
        """Forget the engine; no connection is open."""
        self._engine.dispose()

    def _connect(self) -> sqlite3.Connection:
        address = f"{Path(self._path).as_uri()}?mode={self._mode}"
        connection = sqlite3.connect(address, uri=True, timeout=BUSY_S, check_same_thread=False)
        if self._mode != "ro":
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute("PRAGMA journal_mode=MEMORY")
        return connection


class SqliteStorage:
    """The worker's side (``providers.records.storage.Storage``).

    Args:
        directory: of this worker alone; holds templates and records.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._templates: dict[str, Path] = {}
        self._reader, self._writer, self._maker = Files("ro"), Files("rw"), Files("rwc")

    async def open(self, template: Template) -> Stored:
        """A copy of the template's file."""
        name = template.name
        path = self._directory / f"{secrets.token_hex(16)}.db"
        try:
            shutil.copyfile(self._templates.get(name) or self._make(name, template), path)
        except (OSError, DBAPIError) as error:
            path.unlink(missing_ok=True)  # where the disk is full, half of it may stand
            reason = error.strerror if isinstance(error, OSError) else error.orig
            raise ProviderFault(f"no fresh database: {reason} ({self._directory})") from error
        url = f"sqlite:///{path}"
        return Stored(url, {"url": url, "template": name}, path)

    async def read(self, stored: Stored, tables: Sequence[str]) -> Tables:
        """Tables of one moment, by a connection that cannot write."""
        with self._reader.connection(str(stored.handle)) as connection:
            return {
                name: [plain(row) for row in connection.execute(select(METADATA.tables[name])).mappings()]
                for name in tables
            }

    async def write(self, stored: Stored, work: Callable[[Connection], T]) -> T:
        """Work around the application."""
        with self._writer.connection(str(stored.handle)) as connection, connection.begin():
            return work(connection)

    async def release(self, stored: Stored) -> None:
        """Remove the file."""
        with suppress(FileNotFoundError):
            os.unlink(str(stored.handle))  # noqa: PTH108 - in memory it waits for nothing

    async def close(self) -> None:
        """Forget the engines; the directory is its maker's."""
        for files in (self._reader, self._writer, self._maker):
            files.close()

    def _make(self, name: str, template: Template) -> Path:
        path = self._directory / f"template-{name}.db"
        path.unlink(missing_ok=True)  # what an attempt that failed has left
        with self._maker.connection(str(path)) as connection, connection.begin():
            fill(connection, template)
        self._templates[name] = path
        return path


class SqliteAccess:
    """The service's side (``providers.records.storage.Access``)."""

    def __init__(self) -> None:
        self._files = Files("rw")

    async def run(self, url: str, work: Callable[[Connection], T], *, commit: bool = True) -> T:
        """One transaction; a file that is gone is not made anew."""
        with self._files.connection(make_url(url).database or "") as connection:
            answer = work(connection)
            if commit:
                connection.commit()
            return answer

    def close(self) -> None:
        """No connection is open between two calls."""
        self._files.close()
