"""What an attack is made from, and what it does to the record (pure).

An attack is three lists of writes by the back door: before the oracle reads the baseline, in the arm's place, and late,
while the record settles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from spec.canonical import JsonObject
from spec.contract import Contract, Effect, selector
from spec.reading import Record, RecordSchema, Tables
from spec.values import FieldType, equal


class AttackName(StrEnum):
    """The red team; what each tries stands in ``orchestrator.audit.attacks``."""

    POSITIVE_CONTROL = "positive_control"
    PHANTOM = "phantom"
    PAINTED_SCREEN = "painted_screen"
    DECOY = "decoy"
    WRONG_PAYLOAD = "wrong_payload"
    WRONG_TARGET = "wrong_target"
    DUPLICATE = "duplicate"
    PRIOR_TRIAL = "prior_trial"
    STALE_ROW = "stale_row"
    IN_PLACE_OVERWRITE = "in_place_overwrite"
    TAKEN_OVER = "taken_over"
    COLLATERAL_WRITE = "collateral_write"
    COLLATERAL_LOSS = "collateral_loss"
    LATE_DUPLICATE = "late_duplicate"
    LATE_OVERWRITE = "late_overwrite"
    REACH = "reach"


class Insert(NamedTuple):
    """Add a record."""

    table: str
    record: JsonObject


class Update(NamedTuple):
    """Change fields in place in the records that have all of ``match``."""

    table: str
    match: JsonObject
    fields: JsonObject


class Delete(NamedTuple):
    """Remove the records that have all of ``match``."""

    table: str
    match: JsonObject


Step = Insert | Update | Delete


class Attack(NamedTuple):
    """One try to satisfy the oracle without the effect; of the positive control, with it.

    Attributes:
        name: which strategy.
        target: the field or table that it aims at, "" where there is only one.
        before: writes before the baseline.
        during: writes in the arm's place.
        late: writes after the environment is sealed and the record was read for the first time.
    """

    name: AttackName
    target: str = ""
    before: Sequence[Step] = ()
    during: Sequence[Step] = ()
    late: Sequence[Step] = ()


class Inapplicable(NamedTuple):
    """A strategy that means nothing for a task.

    Attributes:
        reason: why, as a clause that names no value of a trial.
    """

    name: AttackName
    reason: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Scene:
    """A task with one of its trials, as the attacks are derived from it.

    Attributes:
        contract: with the trial's values.
        other: with the values of another trial.
        schema: how the provider's rows are told apart.
        standing: the record of a fresh fixture, as the oracle reads it.
        sample: table -> a row of it, made by the back door where none stood; shows which columns there are.
        tables: every table of the record system, whatever the oracle reads.
        final: one reading of the record is the truth.
        settle_s: seconds for which a live record settles.
    """

    contract: Contract
    other: Contract
    schema: RecordSchema
    standing: Tables
    sample: dict[str, Record]
    tables: Sequence[str]
    final: bool
    settle_s: float

    def table_of(self, effect: Effect) -> str:
        """The table that an effect speaks of."""
        return effect.table or self.schema.main_table

    def record_tables(self) -> list[str]:
        """The tables that are part of the record: all but the provider's bookkeeping."""
        return [table for table in self.tables if table not in self.schema.bookkeeping_tables]

    def columns(self, table: str) -> dict[str, FieldType]:
        """The columns of a table but for those that name its rows, each with the type that the contract gives it."""
        types = {name: kind for one in self.contract if self.table_of(one) == table for name, kind in one.types.items()}
        names = [name for name in self.sample.get(table, {}) if name not in self.schema.key_of(table)]
        return {name: types.get(name, FieldType.TEXT) for name in names}

    def named(self, table: str, row: Record) -> JsonObject:
        """What names a row for the back door: its key, or all that stands in it where it has none."""
        key = {name: row.get(name) for name in self.schema.key_of(table)}
        whole = None not in key.values()
        return key if whole else {name: value for name, value in row.items() if value is not None}


def satisfies(effect: Effect, row: Record) -> bool:
    """Whether an effect with resolved parameters selects a row."""
    return all(
        equal(row.get(name), value, effect.types.get(name, FieldType.TEXT))  # type: ignore[arg-type]  # resolved
        for name, value in selector(effect).items()
    )
