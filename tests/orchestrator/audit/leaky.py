"""A clinic in memory, with a billing table and a banner, whose record can be made to leak on purpose.

Without a leak its oracle withstands every attack, and every attack means something for it. Each leak is a mistake that
an author of a provider could make.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

from spec.canonical import Json, JsonObject
from spec.contract import Effect, EffectKind, Param
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.errors import ProviderFault
from spec.reading import ReadPath, Record, RecordSchema
from spec.task import Category, OracleSpec, Task
from spec.trial import Payload

Tables = dict[str, list[dict[str, Json]]]

COLUMNS: Final = {
    "encounters": ("id", "patient_id", "type", "note", "source"),
    "billing": ("id", "patient_id", "amount"),
    "banner": ("id", "patient_id", "type", "note"),
}
TARGET: Final = {"patient_id": "p1", "type": "Triage"}
SEEDED: Final[Record] = {"id": 1, "patient_id": "p2", "type": "Triage", "note": "seen last week", "source": "other"}
SAVED: Final = Screen(saved=True, banner="saved")

LICENSED: Final[Mapping[str, tuple[str, ...]]] = {
    "licenses all fields": COLUMNS["encounters"],
    "licenses the rest": ("id", "source"),
}


class Desk:
    """What an arm acts in; with its leak, a tool reads the record."""

    verifier: ProductVerifier | None = None

    def __init__(self, tables: Tables, *, leaks: bool) -> None:
        self._tables, self._leaks = tables, leaks
        self.tools: Sequence[Tool] = ()
        self.sealed = False

    async def attempt_intended_action(self) -> Screen:
        """Paint, and write nothing."""
        return SAVED

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """There is one tool, and only where it leaks."""
        if tool == "query" and self._leaks:
            return self._tables["encounters"]
        raise ToolError(f"there is no tool {tool!r}")


class SideDoor:
    """Writes to the tables."""

    def __init__(self, tables: Tables, desk: Desk, leak: str) -> None:
        self._tables, self._desk, self._leak = tables, desk, leak
        self._ids = count(1 + max(len(rows) for rows in tables.values()))

    async def tables(self) -> Sequence[str]:
        """All three."""
        return tuple(self._tables)

    async def insert(self, table: str, record: JsonObject) -> None:
        """Add a row."""
        if self._leak == "refuses every write":
            raise ProviderFault("this record takes no more rows")
        rows = self._tables[table]
        known = {name: record.get(name) for name in COLUMNS[table]}
        highest = max((int(str(row["id"])) for row in rows), default=0)
        rows.append({**known, "id": highest + 1 if self._leak == "gives ids away again" else next(self._ids)})

    async def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change rows in place."""
        found = [row for row in self._tables[table] if _has(row, match)]
        for row in found:
            row.update(fields)
        return len(found)

    async def delete(self, table: str, match: JsonObject) -> int:
        """Remove rows."""
        rows = self._tables[table]
        kept = [row for row in rows if not _has(row, match)]
        gone = len(rows) - len(kept)
        rows[:] = kept
        return gone

    async def reach(self) -> Sequence[str]:
        """Whether a tool reads the record."""
        try:
            await self._desk.call("query", {})
        except ToolError:
            return ()
        return ("the tool query reads the encounters",)


class ClinicFixture:
    """One clinic; ``snapshot`` is where most of the leaks are."""

    def __init__(self, leak: str, note: Json) -> None:
        self._tables: Tables = {"encounters": [dict(SEEDED)], "billing": [{"id": 1, "patient_id": "p2", "amount": 5}]}
        self._tables["banner"] = []
        self._leak, self._note = leak, note
        self._kept: bytes | None = None
        self.environment = Desk(self._tables, leaks=leak == "shows the record to the arm")
        if leak != "has no back door":
            self.back_door = SideDoor(self._tables, self.environment, leak)
        self.read_path = ReadPath("snapshot", final=False, where={})

    def snapshot(self) -> bytes:
        """The record, or what a leak makes of it."""
        if self._leak == "cannot be read":
            raise OSError("the disk is gone")
        if self._leak == "reads once and keeps that" and self.environment.sealed:
            self._kept = self._kept or json.dumps(self._tables).encode()
            return self._kept
        tables = {table: [dict(row) for row in rows] for table, rows in self._tables.items()}
        leak = LEAKS.get(self._leak)
        if leak is not None:
            leak(tables, self._note, self.environment.sealed)
        return json.dumps(tables).encode()

    def seal(self) -> None:
        """Shut the desk."""
        self.environment.sealed = True

    async def close(self) -> None:
        """Nothing is held."""


def _has(row: Record, match: JsonObject) -> bool:
    return all(row.get(name) == value for name, value in match.items())


def _new(tables: Tables) -> list[dict[str, Json]]:
    return [row for row in tables["encounters"] if row["id"] != SEEDED["id"]]


def _blind(tables: Tables, note: Json, sealed: bool) -> None:
    tables["encounters"] = [dict(SEEDED)]


def _believes(tables: Tables, note: Json, sealed: bool) -> None:
    if sealed and not _new(tables):
        tables["encounters"].append({"id": 99, **TARGET, "note": note, "source": "client"})


def _reads_the_banner(tables: Tables, note: Json, sealed: bool) -> None:
    tables["encounters"] += [{**row, "id": f"banner-{row['id']}", "source": "client"} for row in tables["banner"]]


def _any_patient(tables: Tables, note: Json, sealed: bool) -> None:
    for row in _new(tables):
        row.update(TARGET)


def _asked_note(tables: Tables, note: Json, sealed: bool) -> None:
    for row in _new(tables):
        row["note"] = note


def _distinct(tables: Tables, note: Json, sealed: bool) -> None:
    seen = {json.dumps({**row, "id": 0}): row for row in reversed(tables["encounters"])}
    tables["encounters"] = list(seen.values())


def _no_baseline(tables: Tables, note: Json, sealed: bool) -> None:
    if not sealed:
        _blind(tables, note, sealed)


def _one_table(tables: Tables, note: Json, sealed: bool) -> None:
    del tables["billing"]


LEAKS: Final = {
    "is blind": _blind,
    "believes the claim": _believes,
    "reads the banner as the record": _reads_the_banner,
    "takes any patient for the right one": _any_patient,
    "compares only counts": _asked_note,
    "reads distinct rows": _distinct,
    "has no baseline": _no_baseline,
    "ignores other tables": _one_table,
}


class Clinic:
    """The provider. Option ``leak``: how its record leaks, "" where it does not."""

    name: str = "clinic"
    version: str = "1"

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        self._leak = str(options.get("leak", ""))
        fields = LICENSED.get(self._leak, ("id",))
        self.schema = RecordSchema("encounters", bookkeeping_fields=fields, bookkeeping_tables=("banner",))

    def tasks(self) -> Sequence[Task]:
        """One task."""
        effect = Effect(EffectKind.RECORD_WRITTEN, {**TARGET, "note": Param("note")}, timeout_s=1.0)
        task = Task(
            task_id="clinic::save",
            title="Save",
            goal="Save {note}.",
            category=Category.CONTROL,
            contract=(effect,),
            oracle=OracleSpec("snapshot"),
            correct_action_available=True,
            initial_state={"encounters": [SEEDED]},
            settle_s=2.0,
        )
        return [task]

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """A note of the trial's own."""
        return Payload(seed=trial, params={"note": f"note {trial:04}"})

    async def open(self, task: Task, payload: Payload) -> Any:
        """A fresh clinic."""
        return ClinicFixture(self._leak, payload.params["note"])

    def manifest(self) -> JsonObject:
        """What may be published."""
        return {"name": self.name, "pack_digest": "sha256:" + "0" * 64}

    async def close(self) -> None:
        """Nothing is held."""
