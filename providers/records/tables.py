"""The tables of the record application, and what can be built into a database besides.

Texts, dates and amounts are text columns, so that every database gives back what was written. ``banner`` is the
screen's echo of the last save and ``audit_log`` the application's own diary: both are bookkeeping, no part of the
record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Column, Integer, MetaData, Table, Text

from providers.records.shape import NOTES_SHOUTED, ONE_OF_A_KEY

METADATA: Final = MetaData()

patients: Final = Table(
    "patients",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("birth_date", Text, nullable=False),
    Column("record_number", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
)

encounters: Final = Table(
    "encounters",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("patient_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("key", Text),
    Column("clinician", Text),
    Column("seen_at", Text),
    Column("tenant", Text, nullable=False),
    Column("deleted_at", Text),
    Column("updated_at", Text, nullable=False),
    sqlite_autoincrement=True,
)

observations: Final = Table(
    "observations",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("encounter_id", Integer, nullable=False),
    Column("patient_id", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    sqlite_autoincrement=True,
)

billing: Final = Table(
    "billing",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("patient_id", Text, nullable=False),
    Column("amount", Text, nullable=False),
    sqlite_autoincrement=True,
)

outbox: Final = Table(
    "outbox",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("patient_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    sqlite_autoincrement=True,
)

audit_log: Final = Table(
    "audit_log",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("patient_id", Text),
    sqlite_autoincrement=True,
)

banner: Final = Table(
    "banner",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    Column("patient_id", Text),
)

_SHOUT_SQLITE: Final = """
CREATE TRIGGER shout AFTER INSERT ON encounters
BEGIN UPDATE encounters SET note = upper(new.note) WHERE id = new.id; END
"""
_SHOUT_FUNCTION: Final = """
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN new.note := upper(new.note); RETURN new; END $$
"""
_SHOUT_POSTGRES: Final = "CREATE TRIGGER shout BEFORE INSERT ON encounters FOR EACH ROW EXECUTE FUNCTION shout()"
_ONE_A_KEY: Final = 'CREATE UNIQUE INDEX one_of_a_key ON encounters ("key")'

EXTRAS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    NOTES_SHOUTED: {"sqlite": (_SHOUT_SQLITE,), "postgresql": (_SHOUT_FUNCTION, _SHOUT_POSTGRES)},
    ONE_OF_A_KEY: {"sqlite": (_ONE_A_KEY,), "postgresql": (_ONE_A_KEY,)},
}
"""What a database can have built in besides its tables: name -> dialect -> statements."""
