"""The record of one trial: a table of encounters in memory.

Rows are never changed after they were written, and the table is a tuple that a write replaces. Whoever holds a table
therefore holds one moment of it: a snapshot may be taken from another thread while a trial goes on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import orjson

from spec.reading import Record, RecordSchema

SCHEMA: Final = RecordSchema(main_table="encounters", id_field="id", bookkeeping_fields=("id",))

SOURCE_CLIENT: Final = "client"
SOURCE_OTHER: Final = "other"


class Encounter(NamedTuple):
    """What the client sends of an encounter.

    Attributes:
        key: the idempotency key, or None where the client sends none.
    """

    patient_id: str
    type: str
    note: str
    key: str | None = None


def row(number: int, encounter: Encounter, source: str) -> Record:
    """An encounter as it stands in the table under the id ``number``."""
    return {
        "id": number,
        "patient_id": encounter.patient_id,
        "type": encounter.type,
        "note": encounter.note,
        "source": source,
        "key": encounter.key,
    }


_EMPTY: Final = row(0, Encounter("", "", ""), SOURCE_OTHER)
FIELDS: Final = tuple(_EMPTY)
"""The columns."""


class Store:
    """The table of encounters; ids count from 1 and are never given twice.

    Args:
        seeded: rows that stand there from the start, with the ids 1, 2, ...
    """

    __slots__ = ("_next_id", "rows")

    def __init__(self, seeded: tuple[Record, ...] = ()) -> None:
        self.rows = seeded
        self._next_id = len(seeded) + 1

    def add(self, encounter: Encounter) -> None:
        """Write one row."""
        self.rows = (*self.rows, row(self._next_id, encounter, SOURCE_CLIENT))
        self._next_id += 1

    def insert(self, record: Record) -> None:
        """Write a row as it is given; what it does not have is empty, and its id is the next one."""
        self.rows = (*self.rows, {**_EMPTY, **record, "id": self._next_id})
        self._next_id += 1

    def clear(self) -> None:
        """Lose every row."""
        self.rows = ()

    def has_key(self, key: str | None) -> bool:
        """Whether a row with this idempotency key stands in the table."""
        return any(standing["key"] == key for standing in self.rows)

    def snapshot(self) -> bytes:
        """The whole record as JSON."""
        return orjson.dumps({SCHEMA.main_table: self.rows})
