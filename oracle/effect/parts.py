"""The effects of a contract, prepared: what each selects in its table, and whether it holds there.

An effect is prepared once a task; only the parameters are filled in for each trial. This is the innermost loop of the
oracle, so it is written in plain loops, and a text that equals its literal is settled without a call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from oracle.effect.diff import Change, TableDiff
from spec.canonical import Json, JsonObject
from spec.contract import Effect, EffectKind, Param, Term, selector
from spec.reading import Record
from spec.values import FieldType, compare, equal, show

NOTHING_WRITTEN: Final = "no record that the contract selects was created or changed"
_TEXT: Final = FieldType.TEXT

Want = tuple[str, Json, FieldType]
"""A field, the value that it has to hold, and how the two are compared."""


@dataclass(frozen=True, slots=True)
class Wants:
    """Fields with the values that they have to hold.

    Attributes:
        fixed: those whose value is a literal.
        open: those that a parameter fills in: field, parameter, type.
    """

    fixed: tuple[Want, ...]
    open: tuple[tuple[str, str, FieldType], ...]

    def bound(self, params: JsonObject) -> tuple[Want, ...]:
        """All of them, with the trial's values; ``params`` has one for every parameter."""
        if not self.open:
            return self.fixed
        return (*self.fixed, *[(name, params[param], kind) for name, param, kind in self.open])


@dataclass(frozen=True, slots=True)
class Part:
    """One effect, prepared.

    Attributes:
        table: where its records are.
        terms: the selector.
        holds: what every selected record that was created or changed has to hold besides.
        licensed: the fields that may change in a selected record that stood before.
        counts: it says how many records there must be.
        expected_count: how many.
        new_only: only records created since the baseline are counted.
    """

    table: str
    terms: Wants
    holds: Wants
    licensed: frozenset[str]
    counts: bool
    expected_count: int
    new_only: bool


class Found(NamedTuple):
    """What one part found in its table.

    Attributes:
        matching: how many selected records count.
        created: the selected ones that are new.
        changed: the selected ones that stood before and hold something else now.
        failure: why the part does not hold, as a clause; "" where it does.
    """

    matching: int
    created: list[Record]
    changed: list[Change]
    failure: str


def prepare(effect: Effect, main_table: str) -> Part:
    """Prepare one effect.

    Raises:
        ValueError: a ``field_equals`` names no field.
    """
    terms = selector(effect)
    holds: list[tuple[str, Term]] = list(effect.also.items())
    if effect.kind is EffectKind.FIELD_EQUALS:
        if not effect.field:
            raise ValueError("field_equals needs a field")
        holds.append((effect.field, effect.value))
    return Part(
        table=effect.table or main_table,
        terms=_wants(terms.items(), effect),
        holds=_wants(holds, effect),
        licensed=frozenset({*terms, effect.key_field, *(name for name, _ in holds)}),
        counts=effect.kind is EffectKind.RECORD_WRITTEN,
        expected_count=effect.expected_count,
        new_only=effect.count_new_only,
    )


def find(part: Part, params: JsonObject, diff: TableDiff) -> Found:
    """What a part selects in the difference of its table, and whether it holds there.

    Raises:
        spec.values.NotJson: a record holds a value that is not JSON.
    """
    terms = part.terms.bound(params)
    created, changed = [], []
    for row in diff.created:
        if _selects(terms, row):
            created.append(row)
    for change in diff.changed:
        if _selects(terms, change.after):
            changed.append(change)
    count = len(created)
    if not part.new_only:
        count += len(changed)
        for row in diff.untouched:
            count += _selects(terms, row)
    return Found(count, created, changed, _failure(part, params, count, created, changed))


def _wants(pairs: Iterable[tuple[str, Term]], effect: Effect) -> Wants:
    fixed: list[Want] = []
    opened: list[tuple[str, str, FieldType]] = []
    for name, term in pairs:
        kind = effect.types.get(name, _TEXT)
        if isinstance(term, Param):
            opened.append((name, term.name, kind))
        else:
            fixed.append((name, term, kind))
    return Wants(tuple(fixed), tuple(opened))


def _selects(terms: tuple[Want, ...], record: Record) -> bool:
    for name, value, kind in terms:
        actual = record.get(name)
        if kind is _TEXT and type(actual) is str and actual == value:
            continue
        if not equal(actual, value, kind):
            return False
    return True


def _failure(part: Part, params: JsonObject, count: int, created: list[Record], changed: list[Change]) -> str:
    if part.counts:
        expected = part.expected_count
        if count != expected:
            return f"{count} matching records, expected {expected}"
        if expected == 0:
            return "a matching record was written, expected none" if created or changed else ""
    if not created and not changed:
        return NOTHING_WRITTEN
    if not part.holds.fixed and not part.holds.open:
        return ""
    wants = part.holds.bound(params)
    return _first_difference(wants, created) or _first_difference(wants, [change.after for change in changed])


def _first_difference(wants: tuple[Want, ...], records: Sequence[Record]) -> str:
    for record in records:
        for name, value, kind in wants:
            actual = record.get(name)
            if kind is _TEXT and type(actual) is str and actual == value:
                continue
            same, reason = compare(actual, value, kind)
            if not same:
                return f"{show(name)}: {reason}"
    return ""
