"""Prepared databases: copies of one template, lent to one trial after the other and put back to the template between.

Copying a template takes far longer than emptying and filling a few tables, so a copy is made only while the pool fills
and where a database could not be put back. A database gets a new name before it is put back: whoever still has the old
one, such as a request that comes late, finds nothing there and never meets the next trial.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import anyio
import psycopg
from psycopg import sql

from providers.postgres.databases import (
    connect,
    create_database,
    drop_abandoned,
    drop_database,
    grant_rows,
    lock_run,
    rename_database,
)
from providers.postgres.image import Connection, Image, restore, take_image
from providers.postgres.logins import Login, Logins
from providers.postgres.names import TEMPLATE, new_tag
from spec.clock import Clock
from spec.errors import ProviderFault

Build = Callable[[Login, str], Awaitable[None]]
"""Makes tables and first rows in an empty database: called once, with the owner's login and the database's name."""

Seed = Callable[[Connection], Awaitable[None]]
"""Writes what a trial finds in its database besides, as the owner, in one transaction."""

_ROUND_S: Final = 0.002

_END_SESSIONS: Final = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s AND usesysid IS NOT NULL
"""
"""The server's own workers have no user. The kind of a session is not asked: of another role's session it is hidden."""


@dataclass(frozen=True)
class PoolSettings:
    """Bounds of a pool."""

    databases_max: int = 16
    wait_deadline_s: float = 60.0
    """How long a trial waits for a database that another one has."""
    step_deadline_s: float = 30.0
    """For making, putting back or dropping one database."""
    shape_checked: bool = True
    """Whether a database is looked at for more than changed rows; for nothing where no trial has the owner's login."""


class DatabasePool:
    """Databases for trials; made by ``open_pool``."""

    def __init__(self, logins: Logins, settings: PoolSettings, clock: Clock, control: Connection) -> None:
        self.logins = logins
        self.replaced = 0
        """Databases that could not be put back to the template and were dropped."""
        self._settings, self._clock, self._control = settings, clock, control
        self._reconnecting = anyio.Lock()
        self._run = new_tag(clock.utc_now())
        self._image: Image | None = None
        self._slots = anyio.Semaphore(settings.databases_max)
        self._ready: list[str] = []
        self._inside: dict[str, Connection] = {}
        self._names: set[str] = set()
        self._named = 0

    @property
    def template(self) -> str:
        """The template's name, equal for all databases of this pool."""
        return self._run.name(TEMPLATE)

    async def take(self, seed: Seed | None = None) -> str:
        """The name of a fresh database, for this caller alone until it is given back; never one that was told before.

        Args:
            seed: writes the caller's own rows into it.

        Raises:
            ProviderFault: none became free in time, none can be made, or the server refuses the rows.
        """
        name = await self._free()
        if seed is None:
            return name
        try:
            async with _faults("the rows of a record could not be written"):
                with self._step():
                    inside = self._inside.pop(name, None) or await connect(self.logins.owner, name)
                    async with inside, inside.transaction():
                        await seed(inside)
        except BaseException:
            await self.give_back(name)
            raise
        return name

    async def _free(self) -> str:
        bound = self._settings
        try:
            with anyio.fail_after(bound.wait_deadline_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise ProviderFault(
                f"no database became free within {bound.wait_deadline_s:g} s: all {bound.databases_max} of the pool are"
                " in use; raise the number of databases, or lower the number of trials in flight"
            ) from error
        try:
            return self._ready.pop() if self._ready else await self._make()
        except BaseException:
            self._slots.release()
            raise

    async def give_back(self, name: str) -> None:
        """End every session in a database and put it back to the template; one that resists is dropped instead."""
        new = self._next_name()
        try:
            with self._step():
                await self._reset(name, new)
        except (psycopg.Error, ProviderFault, TimeoutError):
            await self._drop(name)
            await self._drop(new)
            self.replaced += 1
        else:
            self._ready.append(new)
        finally:
            self._slots.release()

    async def close(self, *, drop: bool = True) -> None:
        """Drop every database of this pool, and its template.

        Args:
            drop: False where the server itself ends next, and they with it.

        Raises:
            ProviderFault: some of them are still there.
        """
        with anyio.CancelScope(shield=True):
            for inside in self._inside.values():
                await inside.close()
            self._inside.clear()
            for name in [*self._names, self.template] if drop else ():
                await self._drop(name)
            await self._control.close()
        if drop and self._names:
            raise ProviderFault(f"databases could not be dropped: {', '.join(sorted(self._names))}")

    async def prepare(self, build: Build) -> None:
        """Make the template; called once, by ``open_pool``."""
        async with _faults("the template could not be made"):
            await lock_run(self._control, self._run)
            await drop_abandoned(self._control, self._clock.utc_now())
            await create_database(self._control, self.template, self.logins, "template0")
            await build(self.logins.owner, self.template)
            async with await connect(self.logins.owner, self.template) as connection:
                await grant_rows(connection, self.logins)
                async with connection.transaction():
                    self._image = await take_image(connection)
            closed = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(sql.Identifier(self.template))
            await self._control.execute(closed)

    async def _make(self) -> str:
        name = self._next_name()
        try:
            async with _faults("a database could not be made"):
                with self._step():
                    await create_database(await self._server(), name, self.logins, self.template)
        except ProviderFault:
            await self._drop(name)
            raise
        return name

    def _step(self) -> AbstractContextManager[object]:
        """A deadline that no cancellation comes before: the driver would close the connection that all trials share."""
        return anyio.fail_after(self._settings.step_deadline_s, shield=True)

    async def _server(self) -> Connection:
        """The connection that makes and drops databases, and shows that this run lives; made anew where it was lost."""
        async with self._reconnecting:
            if self._control.closed:
                self._control = await connect(self.logins.owner, self.logins.maintenance)
                await lock_run(self._control, self._run)
            return self._control

    def _next_name(self) -> str:
        """A name that this pool has not used, noted down before there is such a database."""
        self._named += 1
        name = self._run.name(f"{self._named:06d}")
        self._names.add(name)
        return name

    async def _reset(self, name: str, new: str) -> None:
        assert self._image is not None
        server, inside = await self._server(), self._inside.pop(name, None)
        if inside is not None:
            await inside.close()
        while (await (await server.execute(_END_SESSIONS, [name])).fetchall())[0][0]:
            await self._clock.sleep(_ROUND_S)
        await rename_database(server, name, new)
        self._names.discard(name)
        inside = self._inside[new] = await connect(self.logins.owner, new)
        await restore(inside, self._image, shape_checked=self._settings.shape_checked)

    async def _drop(self, name: str) -> None:
        """Drop a database, also when the caller is being cancelled; what stays is tried again at the end."""
        self._names.add(name)
        with anyio.move_on_after(self._settings.step_deadline_s, shield=True), suppress(psycopg.Error):
            if (inside := self._inside.pop(name, None)) is not None:
                await inside.close()
            await drop_database(await self._server(), name)
            self._names.discard(name)


async def open_pool(logins: Logins, build: Build, settings: PoolSettings, clock: Clock) -> DatabasePool:
    """A pool on a server, with its template made; databases come as they are asked for.

    Args:
        logins: the roles on that server.
        build: fills the template.
        settings: bounds.
        clock: for deadlines and names.

    Raises:
        ConfigError: ``build`` finds a mistake of the user's.
        ProviderFault: the server cannot be reached, or refuses a step.
    """
    async with _faults("the server cannot be reached"):
        control = await connect(logins.owner, logins.maintenance)
    pool = DatabasePool(logins, settings, clock, control)
    try:
        await pool.prepare(build)
    except BaseException:
        with suppress(ProviderFault):  # what stays is swept up by a later run
            await pool.close()
        raise
    return pool


@asynccontextmanager
async def _faults(what: str) -> AsyncIterator[None]:
    """Turn the driver's errors, and a deadline that has passed, into provider faults."""
    try:
        yield
    except (psycopg.Error, TimeoutError) as error:
        raise ProviderFault(f"{what}: {str(error).strip() or 'the deadline has passed'}") from error
