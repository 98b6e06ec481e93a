"""One trial's record: its database, the session that an arm acts through, and the path that the oracle reads by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from oracle.effect import EffectJudge
from providers.records.back_door import DatabaseBackDoor
from providers.records.client import Client
from providers.records.connection import Connection
from providers.records.drafts import Draft
from providers.records.entry import Entry, Wiring
from providers.records.environment import DEFAULT, RecordsEnvironment
from providers.records.faults import FAULTS
from providers.records.leases import Base, Lease, new_token
from providers.records.shape import MAIN_TABLE, RECORD_TABLES
from providers.records.storage import Storage, Stored, Template
from providers.records.verifier import ReadBack
from spec.canonical import JsonObject
from spec.errors import ProviderFault
from spec.reading import ReadPath, RecordSchema, Tables
from spec.trial import Payload

REST: str = "rest"
SQL: str = "sql"
SQL_TABLES = ("encounters", "billing")
"""What the product's verifier ``sql`` reads: the encounters, and whether a bill appeared."""


ReadPathOf = Callable[[Stored, str], ReadPath]
"""How the oracle reads a record: its database and its name in the service -> read path."""


class Prepared(NamedTuple):
    """What is known of a task before its first trial.

    Attributes:
        wiring: what stands behind it.
        template: how its database looks when it is fresh.
        whole: its contract, for the verifier that reads every table.
        encounters: the part of it that speaks of encounters, for verifiers that read only some tables.
        declared: False where the product is told of no effect, so that it has nothing to verify by.
    """

    wiring: Wiring
    template: Template
    whole: EffectJudge
    encounters: EffectJudge
    declared: bool


def prepare(entry: Entry, schema: RecordSchema) -> Prepared:
    """A task, made ready for its trials."""
    wiring, contract = entry.wiring, entry.task.contract
    main = tuple(effect for effect in contract if effect.table in ("", MAIN_TABLE))
    template = Template(wiring.rows, wiring.extras)
    judges = EffectJudge(contract, schema), EffectJudge(main, schema)
    return Prepared(wiring, template, *judges, entry.task.effect_declared)


class Desk(NamedTuple):
    """What the fixtures of one worker share."""

    base: Base
    storage: Storage
    connection: Connection


class RecordsFixture:
    """A fresh record, seeded for one trial.

    Args:
        desk: the worker's service, storage and connection.
        stored: the trial's database.
        prepared: the task.
        payload: the trial's values.
        path: how the oracle reads the record.
        record: the record's name in the service, for the oracle.
    """

    def __init__(
        self, desk: Desk, stored: Stored, prepared: Prepared, payload: Payload, path: ReadPath, record: str
    ) -> None:
        self._desk, self._stored, self._path, self._record = desk, stored, path, record
        self._token = new_token()
        wiring = prepared.wiring
        desk.base.grant(self._token, Lease(stored.url, wiring.fault, wiring.preset_type))
        client = Client(desk.connection, self._token, FAULTS[wiring.fault], _intended(wiring, payload.params))
        self._environment = RecordsEnvironment(client, self._verifiers(client, prepared, payload.params))

    @property
    def environment(self) -> RecordsEnvironment:
        """The only part that an arm gets, through a proxy."""
        return self._environment

    @property
    def back_door(self) -> DatabaseBackDoor:
        """The way around the application, for an audit."""
        desk = self._desk
        return DatabaseBackDoor(
            desk.storage, self._stored, self._environment, desk.connection, desk.base, self._token, self._record
        )

    @property
    def read_path(self) -> ReadPath:
        """Where the oracle reads: a live record, since the service may still write what it accepted."""
        return self._path

    def snapshot(self) -> bytes:
        """Never asked for: the record is not in this process's memory."""
        raise ProviderFault("this record is not in memory: its channel reads it")

    def seal(self) -> None:
        """Refuse every further request of the arm, at once, here and in the service."""
        self._desk.base.revoke(self._token)
        self._environment.seal()

    async def close(self) -> None:
        """Seal, and give the database back."""
        self.seal()
        self._desk.base.close_record(self._record)
        await self._desk.storage.release(self._stored)

    def _verifiers(self, client: Client, prepared: Prepared, params: JsonObject) -> Mapping[str, ReadBack]:
        if not prepared.declared:
            return {}

        async def read_encounters() -> Tables:
            return {MAIN_TABLE: await client.read_back()}

        async def read_some() -> Tables:
            return await self._desk.storage.read(self._stored, SQL_TABLES)

        async def read_all() -> Tables:
            return await self._desk.storage.read(self._stored, RECORD_TABLES)

        return {
            REST: ReadBack(read_encounters, prepared.encounters, params),
            SQL: ReadBack(read_some, prepared.encounters, params),
            DEFAULT: ReadBack(read_all, prepared.whole, params),
        }


async def open_fixture(desk: Desk, prepared: Prepared, payload: Payload, read_path: ReadPathOf) -> RecordsFixture:
    """A fresh fixture.

    Args:
        desk: the worker's service, storage and connection.
        prepared: the task.
        payload: the trial's values.
        read_path: how the oracle reads a record.

    Raises:
        ProviderFault: there is no database to be had.
    """
    stored = await desk.storage.open(prepared.template)
    record = new_token()
    desk.base.open_record(record, stored.url)
    return RecordsFixture(desk, stored, prepared, payload, read_path(stored, record), record)


def _intended(wiring: Wiring, params: JsonObject) -> Draft:
    """What the scripted action saves: the goal's values for the first patient of its name."""
    given = {name: str(params[name]) for name in ("note", "clinician", "seen_at", "weight_kg") if name in params}
    key = str(params["record_key"]) if wiring.sends_key else None
    return Draft(wiring.intended_patient, wiring.preset_type, key=key, **given)
