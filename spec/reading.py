"""What the oracle reads and what it concludes: read paths, states of a record, readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from spec.canonical import Json, JsonObject


class TrueState(StrEnum):
    """What the oracle saw of the effect; UNREADABLE is a value, never a failure."""

    CORRECT = "correct"
    WRONG_PERSISTED = "wrong_persisted"
    ABSENT = "absent"
    UNREADABLE = "unreadable"


class Verdict(StrEnum):
    """The oracle's (or a product verifier's) answer about a contract."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    INDETERMINATE = "indeterminate"


class ChannelName(StrEnum):
    """The channels of the public row format."""

    SQL = "sql"
    REST = "rest"
    FHIR = "fhir"
    FILE = "file"
    FS = "fs"
    SNAPSHOT = "snapshot"


class ReadPath(NamedTuple):
    """Data that say where a record can be read; only the oracle opens it.

    Attributes:
        channel: a name of ``ChannelName`` or one added by an entry point.
        final: True where one reading is the truth (a store at rest, a snapshot, a file); False where the
            record is live and has to be polled.
        where: what the channel needs to find the record; plain JSON, no credentials.
    """

    channel: str
    final: bool
    where: JsonObject


Record = Mapping[str, Json]
Tables = Mapping[str, Sequence[Record]]
"""A whole record at one moment: table name -> its rows, each a field -> value mapping."""


_NO_KEYS: Final[Mapping[str, tuple[str, ...]]] = {}


class RecordSchema(NamedTuple):
    """What a provider says about its tables, so that the judge can tell rows apart.

    Attributes:
        main_table: the table that an effect without a table of its own speaks of.
        id_field: the field that names a row within its table, where ``keys`` says nothing else.
        bookkeeping_fields: fields that the system keeps for itself (ids, change dates); always licensed.
        bookkeeping_tables: tables of the same kind (audit log, the screen's echo); not part of the record.
        keys: table -> the fields that together name a row within it; a row that lacks one of them has no name.
    """

    main_table: str
    id_field: str = "id"
    bookkeeping_fields: tuple[str, ...] = ("id",)
    bookkeeping_tables: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = _NO_KEYS

    def key_of(self, table: str) -> tuple[str, ...]:
        """The fields that name a row of a table."""
        return tuple(self.keys.get(table) or (self.id_field,))
