"""What the tests of the record application share: the whole of it in this process, without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from oracle.effect import judge
from providers.records.access import Accesses
from providers.records.app import make_app
from providers.records.connection import Connection
from providers.records.entry import Entry, Pack
from providers.records.fixture import Desk, RecordsFixture, open_fixture, prepare
from providers.records.leases import Base
from providers.records.shape import SCHEMA
from providers.records.sqlite import SqliteStorage
from providers.records.storage import Stored
from spec.clock import Clock
from spec.contract import resolve
from spec.reading import ReadPath, Tables, TrueState


class Played:
    """One open trial with what its record held before."""

    def __init__(self, entry: Entry, fixture: RecordsFixture, params: Any, before: Tables, desk: Desk) -> None:
        self.entry, self.fixture, self.params, self.before, self.desk = entry, fixture, params, before, desk

    @property
    def token(self) -> str:
        """The arm's session."""
        (file,) = (self.desk.base.directory / "leases").iterdir()
        return file.name

    async def rows(self) -> Tables:
        return await self.desk.storage.read(self.fixture._stored, TABLES)

    async def state(self) -> TrueState:
        contract = resolve(self.entry.task.contract, self.params)
        return judge(contract, SCHEMA, self.before, await self.rows()).state


TABLES = ("patients", "encounters", "observations", "billing", "outbox", "audit_log", "banner")


class House:
    """A worker's desk whose service stands in this process."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    async def open(self, pack: Pack, name: str) -> Played:
        """Open trial 0 of the task whose id ends in ``name``."""
        entry = next(one for one in pack.entries if one.task.task_id.endswith(f"::{name}"))
        payload = pack.payload(entry.task.task_id, 0, 0)

        def path(stored: Stored, record: str) -> ReadPath:
            return ReadPath("sql", final=False, where=stored.read_where)

        fixture = await open_fixture(self.desk, prepare(entry, SCHEMA), payload, path)
        before = await self.desk.storage.read(fixture._stored, TABLES)
        return Played(entry, fixture, payload.params, before, self.desk)


@pytest.fixture
def base(tmp_path: Path) -> Base:
    """A shared directory of the test's own."""
    made = Base(tmp_path)
    made.furnish()
    return made


@pytest.fixture
async def house(base: Base, clock: Clock) -> AsyncIterator[House]:
    """The application and a worker's side of it."""
    access = Accesses()
    transport = httpx.ASGITransport(make_app(base, access, clock), raise_app_exceptions=False)
    desk = Desk(base, SqliteStorage(base.records), Connection("http://records", transport))
    yield House(desk)
    await desk.connection.close()
    await desk.storage.close()
    access.close()
