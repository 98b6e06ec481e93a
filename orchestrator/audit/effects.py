"""How a contract is brought about by writes to the record, and what stands beside its records (pure)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from orchestrator.audit.scene import Insert, Scene, Step, Update, satisfies
from orchestrator.audit.values import other_value
from spec.canonical import Json
from spec.contract import Contract, Effect, EffectKind, selector
from spec.reading import Record
from spec.values import FieldType

Values = dict[str, Json]

ROWS_LOOKED_AT_MAX: Final = 1_000
"""Rows of a table among which a bystander or another value is looked for."""


@dataclass(slots=True)
class Want:
    """Records that several effects of a contract ask for together.

    Attributes:
        table: where they are.
        terms: what selects them.
        sets: what they have to hold besides.
        types: the types of their fields.
        count: how many of them.
        counted: some effect counts them; otherwise it is enough that those which stand there are changed.
        new_only: only new ones are counted.
    """

    table: str
    terms: Values
    sets: Values
    types: dict[str, FieldType]
    count: int = 1
    counted: bool = False
    new_only: bool = False
    effects: list[Effect] = field(default_factory=list)

    @property
    def record(self) -> Values:
        """All fields of such a record."""
        return {**self.sets, **self.terms}

    def takes(self, other: Want) -> bool:
        """Whether one record can be of both wants."""
        mine, its = self.record, other.record
        same_count = not (self.counted and other.counted) or self.count == other.count
        return self.table == other.table and same_count and all(mine.get(n, v) == v for n, v in its.items())

    def join(self, other: Want) -> None:
        """Ask for what the other asks for too."""
        self.terms |= other.terms
        self.sets |= other.sets
        self.types |= other.types
        self.effects += other.effects
        self.new_only = self.new_only or other.new_only
        if other.counted:
            self.count, self.counted = other.count, True


def wants(contract: Contract, scene: Scene) -> list[Want]:
    """The records that a contract asks for, those of which there may be none included."""
    found: list[Want] = []
    for effect in contract:
        want = _want(effect, scene.table_of(effect))
        home = next((one for one in found if one.takes(want)), None)
        if home is None:
            found.append(want)
        else:
            home.join(want)
    return found


def _want(effect: Effect, table: str) -> Want:
    counted = effect.kind is EffectKind.RECORD_WRITTEN
    terms: Values = dict(selector(effect))  # type: ignore[arg-type]  # resolved
    sets: Values = dict(effect.also)  # type: ignore[arg-type]  # resolved
    if effect.field:
        sets[effect.field] = effect.value  # type: ignore[assignment]  # resolved
    count = effect.expected_count if counted else 1
    return Want(table, terms, sets, dict(effect.types), count, counted, effect.count_new_only, [effect])


def asks_for_nothing(contract: Contract) -> bool:
    """Whether the contract is that nothing is written."""
    return all(effect.kind is EffectKind.RECORD_WRITTEN and effect.expected_count == 0 for effect in contract)


def achieve(contract: Contract, scene: Scene) -> list[Step]:
    """The writes after which a contract holds; of records that stand there already only what is missing."""
    return [step for want in wants(contract, scene) for step in _achieve(want, scene)]


def _achieve(want: Want, scene: Scene) -> Iterator[Step]:
    if want.count == 0:
        return
    standing = [row for row in scene.standing.get(want.table, ()) if all(satisfies(one, row) for one in want.effects)]
    insert = Insert(want.table, new_record(want.table, want.record, scene))
    if want.counted:
        missing = want.count if want.new_only else want.count - len(standing)
        if missing > 0 or not want.sets:
            yield from [insert] * missing
            return
    elif not standing:
        yield insert
        return
    for row in standing:
        yield Update(want.table, scene.named(want.table, row), want.sets)


def new_record(table: str, record: Values, scene: Scene) -> Values:
    """A record with all columns of its table: what the record does not say is as in a row that stands there.

    Its idempotency key is not: that is a record's own, and the record system may refuse one that it knows.
    """
    keys = {effect.key_field for effect in scene.contract if scene.table_of(effect) == table}
    ignored = {*scene.schema.key_of(table), *scene.schema.bookkeeping_fields, *keys}
    return {**{name: value for name, value in scene.sample.get(table, {}).items() if name not in ignored}, **record}


def with_field(contract: Contract, table: str, name: str, value: Json, scene: Scene) -> Contract:
    """The contract with another value of one field of one table, wherever it speaks of it."""
    return tuple(_with_field(one, name, value) if scene.table_of(one) == table else one for one in contract)


def _with_field(effect: Effect, name: str, value: Json) -> Effect:
    changes: dict[str, object] = {}
    if name in effect.match:
        changes["match"] = {**effect.match, name: value}
    if name in effect.also:
        changes["also"] = {**effect.also, name: value}
    if name == effect.field:
        changes["value"] = value
    if effect.idempotency_key is not None and name == effect.key_field:
        changes["idempotency_key"] = value
    return dataclasses.replace(effect, **changes)  # type: ignore[arg-type]  # only fields of an effect


def other_target(table: str, name: str, value: Json, kind: FieldType, scene: Scene) -> Json:
    """Another value of a field that selects, one that stands in the record where there is one.

    It is looked for in the same column, and where the value is the id of a row of another table, among those ids.
    """
    rows: Sequence[Record] = scene.standing.get(table, ())
    for row in islice(rows, ROWS_LOOKED_AT_MAX):
        if row.get(name) is not None and type(row[name]) is type(value) and row[name] != value:
            return row[name]
    for other, others in scene.standing.items():
        key = scene.schema.key_of(other)
        idents = [row.get(key[0]) for row in islice(others, ROWS_LOOKED_AT_MAX)] if len(key) == 1 else []
        if value in idents:
            return next((one for one in idents if one is not None and one != value), other_value(value, kind))
    return other_value(value, kind)


def other_new_target(table: str, name: str, value: Json, kind: FieldType, scene: Scene) -> Json:
    """Another value of a field that selects, for a new record: where the field names the rows alone, one of its own.

    Otherwise the record system would refuse the new record, or take it for the one that stands there.
    """
    if list(scene.schema.key_of(table)) == [name]:
        return other_value(value, kind)
    return other_target(table, name, value, kind, scene)


def fullest(rows: Sequence[Record]) -> Record | None:
    """The first of the rows that say most, so that a file is taken before a directory; None of none."""
    return max(rows, key=lambda row: sum(value is not None for value in row.values()), default=None)


def bystander(table: str, scene: Scene) -> tuple[list[Step], Record | None]:
    """A record of which the contract does not speak, and the writes that put it there where none stands.

    Returns:
        The writes, and the record; None where nobody knows what a record of the table could be.
    """
    effects = [one for one in scene.contract if scene.table_of(one) == table]
    rows = islice(scene.standing.get(table, ()), ROWS_LOOKED_AT_MAX)
    stood = fullest([row for row in rows if not any(satisfies(one, row) for one in effects)])
    if stood is not None:
        return [], stood
    sample = scene.sample.get(table)
    if sample is None:
        return [], None
    record = new_record(table, decoy_fields(table, scene), scene)
    return [Insert(table, record)], record


def decoy_fields(table: str, scene: Scene) -> Values:
    """Fields of a record beside the target: another value in each field that selects, the rest as it should be."""
    found: Values = {}
    for want in wants(scene.contract, scene):
        if want.table == table:
            terms = {
                name: other_new_target(table, name, value, want.types.get(name, FieldType.TEXT), scene)
                for name, value in want.terms.items()
            }
            found = {**want.record, **terms, **found}
    return found
