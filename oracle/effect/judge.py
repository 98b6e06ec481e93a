"""The judge of kind effect (pure): a contract and two readings of a record give the true state.

The record before and after the arm is compared as a whole. The state is

* UNREADABLE where a reading is missing or not clean;
* CORRECT where every effect holds and nothing changed that the contract does not license;
* ABSENT where nothing changed but what is licensed, and no record that an effect selects was created or changed;
* WRONG_PERSISTED otherwise: a write to a wrong record, a second copy, a lost neighbour, a half-saved field.

Licensed are new records that an effect selects; in selected records that stood before, the fields that the effect
names; and the provider's bookkeeping. Vanished records are licensed only where no effect forbids collateral loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from oracle.effect.diff import FieldRules, TableDiff, Unclean, diff_table
from oracle.effect.parts import NOTHING_WRITTEN, Found, find, prepare
from oracle.effect.seen import seen_json
from spec.canonical import Json, JsonObject
from spec.contract import Effect, UnresolvedParam, unresolved
from spec.reading import RecordSchema, Tables, TrueState, Verdict
from spec.values import NotJson, show

_HOLDS: Final = "every effect holds and nothing else changed"
_NO_FIELDS: Final[frozenset[str]] = frozenset()


class Finding(NamedTuple):
    """What the judge concludes.

    Attributes:
        state: the true state.
        reason: one sentence for the report.
        observed_count: how many records the first record effect counted; None where unreadable.
        expected_count: how many it asks for.
        seen: the difference as JSON of bounded size; None where the state is CORRECT or UNREADABLE.
    """

    state: TrueState
    reason: str
    observed_count: int | None
    expected_count: int
    seen: Json = None


class EffectJudge:
    """A contract made ready to judge many trials of one task.

    Args:
        contract: as authored; parameters are filled in for each trial.
        schema: how the provider's rows are told apart.

    Raises:
        ValueError: the contract has no effect, or one without its field (see ``spec.contract.contract_problems``).
    """

    def __init__(self, contract: Sequence[Effect], schema: RecordSchema) -> None:
        if not contract:
            raise ValueError("a contract needs at least one effect")
        self._schema = schema
        self._params = unresolved(contract, {})
        self._parts = tuple(prepare(effect, schema.main_table) for effect in contract)
        self._loss_licensed = not any(effect.forbid_collateral_loss for effect in contract)
        self._counted = next((place for place, part in enumerate(self._parts) if part.counts), 0)
        self._expected_count = self._parts[self._counted].expected_count
        ignored = frozenset(schema.bookkeeping_fields)
        self._rules = {part.table: FieldRules(schema.key_of(part.table), ignored, {}) for part in self._parts}
        for part, effect in zip(self._parts, contract, strict=True):
            rules = self._rules[part.table]
            self._rules[part.table] = rules._replace(types={**rules.types, **effect.types})
        self._other_rules = FieldRules((schema.id_field,), ignored, {})
        self._keyed_rules = {table: FieldRules(schema.key_of(table), ignored, {}) for table in schema.keys}

    def judge(self, params: JsonObject, before: Tables | None, after: Tables, *, see: bool = True) -> Finding:
        """Judge one trial.

        Args:
            params: the trial's values; empty for a contract that is resolved already.
            before: the baseline, None where there is no readable one.
            after: the record after the arm.
            see: whether the finding is to show the difference.

        Raises:
            spec.contract.UnresolvedParam: a parameter has no value; such a task is refused when the plan is made.
        """
        for name in self._params:
            if name not in params:
                raise UnresolvedParam(f"the contract needs the parameter {name!r}, which the trial does not have")
        if before is None:
            return self._unreadable("there is no readable baseline")
        try:
            diffs = self._diff(before, after)
            found = [find(part, params, diffs[part.table]) for part in self._parts]
        except (Unclean, NotJson) as error:
            return self._unreadable(str(error))
        return self._conclude(found, diffs, see)

    def verify(self, params: JsonObject, before: Tables | None, after: Tables) -> Verdict:
        """The answer of a verifier that a product could offer: the same judging, over what the product itself reads.

        Raises:
            spec.contract.UnresolvedParam: a parameter has no value.
        """
        return verdict_of(self.judge(params, before, after, see=False).state)

    def _unreadable(self, reason: str) -> Finding:
        return Finding(TrueState.UNREADABLE, reason, None, self._expected_count)

    def _diff(self, before: Tables, after: Tables) -> dict[str, TableDiff]:
        """The difference of every table that is part of the record or that an effect speaks of.

        A table that is new after the arm stood empty before it; one that is gone is a reading that is not whole.
        """
        _require_tables(before, "before the arm")
        _require_tables(after, "after the arm")
        for table in self._rules:
            if table not in before:
                raise Unclean(f"table {show(table)} is missing in the baseline")
        for table in before:
            if table not in after and (table in self._rules or table not in self._schema.bookkeeping_tables):
                raise Unclean(f"table {show(table)} is missing after the arm")
        diffs = {}
        for table, rows in after.items():
            rules = self._rules.get(table)
            if rules is None:
                if table in self._schema.bookkeeping_tables:
                    continue
                rules = self._keyed_rules.get(table, self._other_rules)
            try:
                diffs[table] = diff_table(before.get(table, ()), rows, rules)
            except (Unclean, NotJson) as error:
                raise Unclean(f"table {show(table)}: {error}") from error
        return diffs

    def _conclude(self, found: Sequence[Found], diffs: Mapping[str, TableDiff], see: bool) -> Finding:
        observed = found[self._counted].matching
        failure, written = "", False
        for one in found:
            failure = failure or one.failure
            written = written or bool(one.created or one.changed)
        unlicensed = self._unlicensed(found, diffs)
        if not failure and not unlicensed:
            return Finding(TrueState.CORRECT, _HOLDS, observed, self._expected_count)
        if not written and not unlicensed:
            state, reason = TrueState.ABSENT, NOTHING_WRITTEN
        else:
            state = TrueState.WRONG_PERSISTED
            reason = f"{failure}; {unlicensed}" if failure and unlicensed else failure or unlicensed
        seen = seen_json(diffs, self._schema) if see else None
        return Finding(state, reason, observed, self._expected_count, seen)

    def _unlicensed(self, found: Sequence[Found], diffs: Mapping[str, TableDiff]) -> str:
        """What changed though no effect allows it, as a clause; "" where nothing did."""
        selected: set[int] = set()
        allowed: dict[int, frozenset[str]] = {}
        for part, one in zip(self._parts, found, strict=True):
            for row in one.created:
                selected.add(id(row))
            for change in one.changed:
                allowed[id(change)] = allowed.get(id(change), _NO_FIELDS) | part.licensed
        for table, diff in diffs.items():
            if table in self._schema.bookkeeping_tables:
                continue
            for row in diff.created:
                if id(row) not in selected:
                    return f"a record that the contract does not select was created in {show(table)}"
            for change in diff.changed:
                if over := change.fields - allowed.get(id(change), _NO_FIELDS):
                    names = ", ".join(sorted(show(name) for name in over))
                    return f"a record of {show(table)} was changed in {names}, which is not licensed"
            if diff.vanished and not self._loss_licensed:
                return f"{len(diff.vanished)} of the records that stood in {show(table)} are gone"
        return ""


def judge(contract: Sequence[Effect], schema: RecordSchema, before: Tables | None, after: Tables) -> Finding:
    """Judge one trial by its resolved contract; ``EffectJudge`` is faster for many trials of a task."""
    return EffectJudge(contract, schema).judge({}, before, after)


def verify(contract: Sequence[Effect], schema: RecordSchema, before: Tables | None, after: Tables) -> Verdict:
    """Verify one trial by its resolved contract; ``EffectJudge.verify`` is faster for many trials of a task."""
    return EffectJudge(contract, schema).verify({}, before, after)


def verdict_of(state: TrueState) -> Verdict:
    """CONFIRMED exactly for CORRECT, INDETERMINATE exactly for UNREADABLE."""
    if state is TrueState.CORRECT:
        return Verdict.CONFIRMED
    return Verdict.INDETERMINATE if state is TrueState.UNREADABLE else Verdict.REFUTED


def _require_tables(reading: object, when: str) -> None:
    if type(reading) is not dict and not isinstance(reading, Mapping):
        raise Unclean(f"the reading {when} is no set of tables")
