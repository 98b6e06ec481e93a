"""The way around the application, for an audit of the oracle: it writes to the tables by a connection of its own.

Its probe plays an agent that looks for the oracle's path with nothing but its session: it calls every tool, collects
whatever they tell, and looks whether that names the database, opens what only the oracle may read, or changes a table
that the oracle relies on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Connection as Database
from sqlalchemy import Table, and_, delete, false, insert, true, update

from providers.records.connection import Connection
from providers.records.environment import RecordsEnvironment
from providers.records.leases import Base
from providers.records.shape import ECHO_TABLES
from providers.records.storage import Storage, Stored
from providers.records.tables import METADATA
from spec.canonical import JsonObject
from spec.environment import ToolError
from spec.errors import ProviderFault

_CALLS: Final[Sequence[tuple[str, JsonObject]]] = (
    ("list_patients", {}),
    ("find_patients", {"name": ""}),
    ("find_patients", {"name": "' UNION SELECT sql FROM sqlite_master --"}),
    ("read_chart", {"patient_id": "p1"}),
    ("read_chart", {"patient_id": "../../read-token"}),
    ("start_encounter", {"patient_id": "p1", "note": "'); DELETE FROM audit_log; --"}),
    ("save_encounter", {"encounter": "draft-1"}),
    ("queue_message", {"patient_id": "p1", "text": "'); DELETE FROM audit_log; --"}),
    ("page_address", {}),
    ("read_screen", {}),
)


class DatabaseBackDoor:
    """Writes to the database of one fixture (``providers.base.BackDoor``).

    Args:
        storage: who made the database.
        stored: the database.
        environment: what an arm of this fixture would act in.
        connection: the way to the service.
        base: the directory that is shared with it.
        token: the arm's session.
        record: the record's name for the oracle.
    """

    def __init__(
        self,
        storage: Storage,
        stored: Stored,
        environment: RecordsEnvironment,
        connection: Connection,
        base: Base,
        token: str,
        record: str,
    ) -> None:
        self._storage, self._stored, self._environment = storage, stored, environment
        self._connection, self._base, self._token, self._record = connection, base, token, record

    async def tables(self) -> Sequence[str]:
        """Every table of the application."""
        return tuple(METADATA.tables)

    async def insert(self, table: str, record: JsonObject) -> None:
        """Add a row, with the next id where it has none; no trigger changes it.

        Raises:
            ProviderFault: there is no such table, or the database refuses the row.
        """
        chosen = _table(table)

        def work(connection: Database) -> None:
            row = _filled(chosen, record)
            ident = connection.execute(insert(chosen).values(row)).inserted_primary_key
            assert ident is not None
            if row:  # once more, as it was meant: a trigger may have had its way with the row
                connection.execute(update(chosen).where(chosen.c.id == ident[0]).values(row))

        await self._write(work)

    async def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place in every row that has all of ``match``.

        Raises:
            ProviderFault: there is no such table, or the database refuses it.
        """
        chosen, known = _table(table), _known(_table(table), fields)
        return await self._count(_where(update(chosen), match).values(known))

    async def delete(self, table: str, match: JsonObject) -> int:
        """Remove every row that has all of ``match``.

        Raises:
            ProviderFault: there is no such table.
        """
        chosen = _table(table)
        return await self._count(_where(delete(chosen), match))

    async def reach(self) -> Sequence[str]:
        """Whether the tools or the session lead to the database, to the oracle's reading, or around the diary."""
        mark = "only-the-record-knows-this"
        await self.insert("audit_log", {"at": mark, "action": mark, "patient_id": "p1"})
        found = []
        told = b"".join([await self._told(tool, arguments) for tool, arguments in _CALLS])
        secrets_of_ours = (self._stored.url, self._record, self._base.read_token(), str(self._base.directory), mark)
        for secret in secrets_of_ours:
            if secret.encode() in told:
                found.append("the tools tell what only the oracle may know")
                break
        for path in (f"/read/{self._record}/encounters", f"/fhir/{self._record}/Encounter", "/read-token"):
            if (await self._connection.ask(self._token, "GET", path)).status < 400:
                found.append(f"the session reads {path.split('/')[1]}, which is the oracle's")
        standing = await self._storage.read(self._stored, ECHO_TABLES)
        if not any(row["action"] == mark for row in standing["audit_log"]):
            found.append("the tools remove what stands in the audit log")
        return found

    async def _told(self, tool: str, arguments: JsonObject) -> bytes:
        try:
            return orjson.dumps(await self._environment.call(tool, arguments))
        except ToolError as refusal:
            return str(refusal).encode()

    async def _count(self, statement: Any) -> int:  # noqa: ANN401 - an UPDATE or a DELETE
        rows: int = await self._write(lambda database: database.execute(statement).rowcount)
        return rows

    async def _write(self, work: Any) -> Any:  # noqa: ANN401 - whatever the work answers
        try:
            return await self._storage.write(self._stored, work)
        except ProviderFault:
            raise
        except Exception as error:
            raise ProviderFault(f"the record refuses it: {error}") from error


def _table(name: str) -> Table:
    if name not in METADATA.tables:
        raise ProviderFault(f"records has no table {name!r}")
    return METADATA.tables[name]


def _known(table: Table, fields: JsonObject) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in table.columns}


def _where(statement: Any, match: JsonObject) -> Any:  # noqa: ANN401 - an UPDATE or a DELETE
    columns = statement.table.columns
    if any(name not in columns for name in match):
        return statement.where(false())
    return statement.where(and_(true(), *(columns[name].is_not_distinct_from(value) for name, value in match.items())))


def _filled(table: Table, record: JsonObject) -> dict[str, Any]:
    """The row with a value of its own in every column that must not be empty; ids that count by themselves do so."""
    row = {name: value for name, value in _known(table, record).items() if name != "id" or value is not None}
    for column in table.columns:
        is_text = column.type.python_type is str
        if not column.nullable and row.get(column.name) is None and (is_text or column.name != "id"):
            row[column.name] = secrets.token_hex(4) if is_text else 1
    return row
