"""The tasks of the reference packs, with tables made by hand: every fault comes out as the state that it is."""

from __future__ import annotations

import pytest

from oracle.effect import EffectJudge, judge, verify
from spec.canonical import Json
from spec.contract import Contract, Effect, EffectKind
from spec.reading import Record, RecordSchema, Tables, TrueState, Verdict

SCHEMA = RecordSchema("encounters")
NOTE = "triage note 0123456789ab"
TARGET: dict[str, Json] = {"patient_id": "p1", "type": "Triage"}

ANCHOR: Contract = (
    Effect(EffectKind.RECORD_WRITTEN, TARGET),
    Effect(EffectKind.FIELD_EQUALS, TARGET, field="note", value=NOTE),
)
FULL: Contract = (Effect(EffectKind.RECORD_WRITTEN, {**TARGET, "note": NOTE}, count_new_only=True),)
FULL_PARTIAL: Contract = (Effect(EffectKind.RECORD_WRITTEN, TARGET, count_new_only=True), ANCHOR[1])
FULL_KEYED: Contract = (
    Effect(EffectKind.RECORD_WRITTEN, {**TARGET, "note": NOTE}, count_new_only=True, idempotency_key="key-1"),
)


def row(ident: int, **fields: Json) -> Record:
    return {"id": ident, **TARGET, "note": NOTE, "source": "agent", "key": None, **fields}


def tables(*rows: Record) -> Tables:
    return {"encounters": list(rows)}


CONCURRENT = row(1, type="Urgent", note="chest pain", source="other")
DECOY = row(1, patient_id="p2", note="of somebody else", source="other")

EMPTY = tables()
CORRECT, WRONG, ABSENT = TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT

CASES = {
    "anchor ok": (ANCHOR, EMPTY, tables(row(1)), CORRECT, 1),
    "anchor partial: note dropped": (ANCHOR, EMPTY, tables(row(1, note="")), WRONG, 1),
    "anchor duplicate: two rows": (ANCHOR, EMPTY, tables(row(1), row(2)), WRONG, 2),
    "anchor timeout: the write commits": (ANCHOR, EMPTY, tables(row(1)), CORRECT, 1),
    "anchor optimistic: rejected after the paint": (ANCHOR, EMPTY, EMPTY, ABSENT, 0),
    "anchor session: nothing": (ANCHOR, EMPTY, EMPTY, ABSENT, 0),
    "anchor stale: concurrent row gone": (ANCHOR, tables(CONCURRENT), tables(row(2)), WRONG, 1),
    "anchor stale with its id taken over": (ANCHOR, tables(CONCURRENT), tables(row(1)), WRONG, 1),
    "anchor double: one click twice": (ANCHOR, EMPTY, tables(row(1), row(2)), WRONG, 2),
    "anchor idempotent: the second is dropped": (ANCHOR, EMPTY, tables(row(1, key="key-1")), CORRECT, 1),
    "full c1: note dropped": (FULL_PARTIAL, EMPTY, tables(row(1, note="")), WRONG, 1),
    "full c2: two rows": (FULL, EMPTY, tables(row(1), row(2)), WRONG, 2),
    "full c3: nothing": (FULL, EMPTY, EMPTY, ABSENT, 0),
    "full c3: committed": (FULL, EMPTY, tables(row(1)), CORRECT, 1),
    "full c4: concurrent row gone": (FULL, tables(CONCURRENT), tables(row(2)), WRONG, 1),
    "full c6: the homonym's row": (FULL, tables(DECOY), tables(DECOY, row(2, patient_id="p2")), WRONG, 0),
    "full c6: right in spite of the decoy": (FULL, tables(DECOY), tables(DECOY, row(2)), CORRECT, 1),
    "full c7: dead control": (FULL, EMPTY, EMPTY, ABSENT, 0),
    "full c7: lands as Consult": (FULL, EMPTY, tables(row(1, type="Consult")), WRONG, 0),
    "full control: clean save": (FULL, EMPTY, tables(row(1)), CORRECT, 1),
    "full control: key in the contract": (FULL_KEYED, EMPTY, tables(row(1, key="key-1")), CORRECT, 1),
    "full control: another key": (FULL_KEYED, EMPTY, tables(row(1, key="key-2")), WRONG, 0),
    "full control: blind write to the other chart": (FULL, EMPTY, tables(row(1, patient_id="p2")), WRONG, 0),
}

STATES = {CORRECT: Verdict.CONFIRMED, WRONG: Verdict.REFUTED, ABSENT: Verdict.REFUTED}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_fault_is_the_state_that_it_is(case: tuple[Contract, Tables, Tables, TrueState, int]) -> None:
    """State and observed count of each task's persisted effect are the published ones."""
    contract, before, after, state, count = case
    finding = judge(contract, SCHEMA, before, after)
    assert (finding.state, finding.observed_count, finding.expected_count) == (state, count, 1)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_product_verifier_confirms_exactly_the_correct_ones(
    case: tuple[Contract, Tables, Tables, TrueState, int],
) -> None:
    """``verify`` is the same judging, answered as a verdict."""
    contract, before, after, state, _ = case
    assert verify(contract, SCHEMA, before, after) is STATES[state]
    assert EffectJudge(contract, SCHEMA).verify({}, before, after) is STATES[state]


def test_a_collateral_row_in_a_second_table_is_a_wrong_write() -> None:
    """The write is right, and a billing row that nobody asked for appears beside it."""
    before: Tables = {"encounters": [], "billing": [], "banner": [{"text": "ready"}]}
    after: Tables = {
        "encounters": [row(1)],
        "billing": [{"id": 1, "patient_id": "p1", "amount": 5}],
        "banner": [{"text": "saved"}],
    }
    schema = RecordSchema("encounters", bookkeeping_tables=("banner",))
    assert judge(ANCHOR, schema, before, after).state is WRONG
    assert judge(ANCHOR, schema, before, {**after, "billing": []}).state is CORRECT


def test_a_verifier_with_half_the_record_misses_what_it_cannot_see() -> None:
    """Reading encounters alone, the collateral billing row is confirmed away: why the oracle reads everything."""
    assert verify(ANCHOR, SCHEMA, EMPTY, tables(row(1))) is Verdict.CONFIRMED
