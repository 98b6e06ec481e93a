"""Laws of the judge over many small worlds, among them agreement with the rules written out word by word."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from oracle.effect import SEEN_BYTES_MAX, judge
from spec.canonical import canonical_json
from spec.contract import Effect, EffectKind, selector
from spec.reading import Record, RecordSchema, Tables, TrueState

SCHEMA = RecordSchema("a", bookkeeping_fields=("id", "at"), bookkeeping_tables=("log",))

words = st.sampled_from(["x", "y", None])
contents = st.fixed_dictionaries({"f": words, "g": words, "at": words})


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """A record of three small tables with ids from a small range."""
    return {
        name: [{"id": ident, **draw(contents)} for ident in draw(st.sets(st.integers(1, 3), max_size=3))]
        for name in ("a", "b", "log")
    }


@st.composite
def effects(draw: st.DrawFn) -> Effect:
    """Any effect over the fields of the small tables."""
    kind = draw(st.sampled_from(EffectKind))
    reads_back = kind is EffectKind.FIELD_EQUALS
    return Effect(
        kind,
        draw(st.dictionaries(st.sampled_from(["f", "g"]), words, min_size=1)),
        field=draw(st.sampled_from(["f", "g"])) if reads_back else None,
        value=draw(words) if reads_back else None,
        expected_count=draw(st.integers(0, 2)),
        count_new_only=not reads_back and draw(st.booleans()),
        forbid_collateral_loss=draw(st.booleans()),
        also=draw(st.dictionaries(st.just("g"), words)),
        table=draw(st.sampled_from(["", "b"])),
    )


contracts = st.lists(effects(), min_size=1, max_size=2)


def by_the_rules(contract: Sequence[Effect], before: Tables, after: Tables) -> TrueState:
    """The rules word by word, without any thought of speed; for small worlds with ids and texts only."""

    def content(row: Mapping[str, object]) -> dict[str, object]:
        return {name: value for name, value in row.items() if name not in ("id", "at")}

    def selected(effect: Effect, row: Record) -> bool:
        return all(row.get(name) == value for name, value in selector(effect).items())

    old = {(table, row["id"]): row for table in ("a", "b") for row in before[table]}
    new = {(table, row["id"]): row for table in ("a", "b") for row in after[table]}
    written = [key for key, row in new.items() if key not in old or content(row) != content(old[key])]
    holding, touched, licensed = [], set(), {key: set[str]() for key in written}
    for effect in contract:
        mine = [key for key, row in new.items() if key[0] == (effect.table or "a") and selected(effect, row)]
        hits = [key for key in mine if key in written]
        touched.update(hits)
        values = dict(effect.also)
        right = all(new[key].get(name) == value for key in hits for name, value in values.items())
        if effect.kind is EffectKind.RECORD_WRITTEN:
            count = len([key for key in mine if key not in old] if effect.count_new_only else mine)
            right = right and count == effect.expected_count and bool(hits) == bool(effect.expected_count)
        else:
            right = right and bool(hits) and all(new[key].get(str(effect.field)) == effect.value for key in hits)
        holding.append(right)
        for key in hits:
            licensed[key] |= {*effect.match, *values, effect.key_field, *([effect.field] if effect.field else [])}
    lost = [key for key in old if key not in new]
    unlicensed = bool(lost) and any(effect.forbid_collateral_loss for effect in contract)
    for key in written:
        names = {name for name in content(new[key]) if new[key][name] != old.get(key, {}).get(name)}
        unlicensed = unlicensed or key not in touched or (key in old and not names <= licensed[key])
    if all(holding) and not unlicensed:
        return TrueState.CORRECT
    return TrueState.ABSENT if not touched and not unlicensed else TrueState.WRONG_PERSISTED


@settings(max_examples=300)
@given(contracts, tables(), tables())
def test_the_judge_follows_the_rules_word_by_word(contract: list[Effect], before: Tables, after: Tables) -> None:
    """The prepared judge and the plain reading of the specification give one state."""
    assert judge(contract, SCHEMA, before, after).state is by_the_rules(contract, before, after)


@given(contracts, tables(), tables(), st.randoms())
def test_the_order_of_rows_and_tables_never_matters(
    contract: list[Effect], before: Tables, after: Tables, chance: random.Random
) -> None:
    """A store may hand its rows over in any order."""

    def shuffled(record: Tables) -> Tables:
        names = chance.sample(sorted(record), len(record))
        return {name: chance.sample(list(record[name]), len(record[name])) for name in names}

    mixed = judge(contract, SCHEMA, shuffled(before), shuffled(after))
    plain = judge(contract, SCHEMA, before, after)
    assert (mixed.state, mixed.observed_count) == (plain.state, plain.observed_count)


@given(contracts, tables(), tables())
def test_an_added_record_that_nobody_asked_for_is_never_correct(
    contract: list[Effect], before: Tables, after: Tables
) -> None:
    """Whatever else happened, a new record that no effect selects makes it a wrong write."""
    stray: Record = {"id": 99, "f": "z", "g": "z"}
    for table in ("a", "b"):
        grown: Tables = {**after, table: [*after[table], stray]}
        assert judge(contract, SCHEMA, before, grown).state is TrueState.WRONG_PERSISTED


@given(contracts, tables(), tables())
def test_what_the_system_keeps_for_itself_never_matters(contract: list[Effect], before: Tables, after: Tables) -> None:
    """Change dates and the log may say anything."""
    stamped: Tables = {name: [{**row, "at": "later"} for row in rows] for name, rows in after.items()}
    moved: Tables = {**stamped, "log": [{"id": 1, "what": "saved"}]}
    assert judge(contract, SCHEMA, before, moved).state is judge(contract, SCHEMA, before, after).state


@given(contracts, tables())
def test_an_arm_that_did_nothing_wrote_nothing(contract: list[Effect], before: Tables) -> None:
    """An unchanged record is never a wrong write, and correct only where nothing was asked to be written."""
    state = judge(contract, SCHEMA, before, before).state
    idle = all(effect.kind is EffectKind.RECORD_WRITTEN and effect.expected_count == 0 for effect in contract)
    assert state is TrueState.ABSENT or (idle and state is TrueState.CORRECT)


@given(contracts, tables(), tables())
def test_the_difference_is_shown_exactly_where_the_state_is_not_correct(
    contract: list[Effect], before: Tables, after: Tables
) -> None:
    """A correct trial leaves nothing to look at; every other one does, within its bound."""
    finding = judge(contract, SCHEMA, before, after)
    assert (finding.seen is None) == (finding.state is TrueState.CORRECT)
    assert len(canonical_json(finding.seen)) <= SEEN_BYTES_MAX
    assert finding.reason
