"""The judge: what holds, what is licensed, what is unreadable, and the laws of both."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from oracle.effect import EffectJudge, judge, verdict_of, verify
from spec.canonical import Json
from spec.contract import Contract, Effect, EffectKind, FieldType, Param, UnresolvedParam
from spec.reading import Record, RecordSchema, Tables, TrueState, Verdict

SCHEMA = RecordSchema("notes", bookkeeping_fields=("id", "saved_at"), bookkeeping_tables=("audit",))
CORRECT, WRONG, ABSENT, UNREADABLE = (
    TrueState.CORRECT,
    TrueState.WRONG_PERSISTED,
    TrueState.ABSENT,
    TrueState.UNREADABLE,
)
WRITTEN = Effect(EffectKind.RECORD_WRITTEN, {"who": "p1"})
READ_BACK = Effect(EffectKind.FIELD_EQUALS, {"who": "p1"}, field="text", value="t")


def row(ident: int, who: Json = "p1", text: Json = "t", **more: Json) -> Record:
    return {"id": ident, "who": who, "text": text, **more}


def state(contract: Effect | Contract, before: list[Record], after: list[Record]) -> TrueState:
    effects = (contract,) if isinstance(contract, Effect) else contract
    return judge(effects, SCHEMA, {"notes": before}, {"notes": after}).state


class TestKnownFaults:
    """Each line of the list of scoring faults that other implementations have."""

    @pytest.mark.parametrize(
        "contract",
        [
            dataclasses.replace(READ_BACK, value=Param("text")),
            dataclasses.replace(WRITTEN, match={"who": Param("text")}),
            dataclasses.replace(WRITTEN, also={"text": Param("text")}),
        ],
    )
    def test_an_unresolved_parameter_never_compares_as_the_empty_text(self, contract: Effect) -> None:
        """A dropped field is not confirmed because the parameter was dropped as well: it is refused."""
        with pytest.raises(UnresolvedParam, match="'text'"):
            judge([contract], SCHEMA, {"notes": []}, {"notes": [row(1, text="")]})

    def test_null_is_not_the_text_that_names_it(self) -> None:
        """A field that is null does not hold "None", nor the other way round."""
        contract = dataclasses.replace(READ_BACK, value="None")
        assert state(contract, [], [row(1, text=None)]) is WRONG
        assert state(contract, [], [row(1, text="None")]) is CORRECT
        assert state(dataclasses.replace(READ_BACK, value=None), [], [row(1, text="None")]) is WRONG

    def test_five_is_five_point_nought(self) -> None:
        """Numbers compare as numbers, undeclared or declared, and never as a text that was not declared."""
        undeclared = dataclasses.replace(WRITTEN, match={"who": 5})
        declared = dataclasses.replace(undeclared, types={"who": FieldType.DECIMAL})
        for contract in (undeclared, declared):
            assert state(contract, [], [row(1, who=5.0)]) is CORRECT
        assert state(undeclared, [], [row(1, who="5")]) is WRONG
        assert state(declared, [], [row(1, who="5.00")]) is CORRECT
        assert state(declared, [], [row(1, who=True)]) is WRONG

    def test_a_record_changed_in_place_is_seen(self) -> None:
        """Nothing vanished and nothing was added, and still a neighbour's record is not what it was."""
        before = [row(7, who="p2", text="old")]
        assert state(WRITTEN, before, [row(7, who="p2", text="new"), row(8)]) is WRONG
        assert state(WRITTEN, before, [*before, row(8)]) is CORRECT

    def test_a_write_to_the_wrong_record_is_a_wrong_write(self) -> None:
        """Something persisted, so the state is not ABSENT although no selected record was written."""
        assert state(WRITTEN, [], [row(1, who="p2")]) is WRONG
        assert state(READ_BACK, [row(1, who="p2", text="a")], [row(1, who="p2", text="t")]) is WRONG

    def test_a_matching_record_that_stood_there_proves_nothing(self) -> None:
        """An arm that did nothing has not fulfilled a contract that happened to hold."""
        assert state(WRITTEN, [row(1)], [row(1)]) is ABSENT
        assert state(READ_BACK, [row(1)], [row(1)]) is ABSENT


class TestCounts:
    def test_all_records_count_unless_only_new_ones_do(self) -> None:
        """A second matching record is one too many, except where the contract counts new ones only."""
        before, after = [row(1)], [row(1), row(2)]
        assert state(WRITTEN, before, after) is WRONG
        assert state(dataclasses.replace(WRITTEN, expected_count=2), before, after) is CORRECT
        assert state(dataclasses.replace(WRITTEN, count_new_only=True), before, after) is CORRECT

    def test_a_changed_record_is_no_new_one(self) -> None:
        """Counting new records only, a change in place is not the record that was asked for."""
        before, after = [row(1, who="p2")], [row(1)]
        assert state(WRITTEN, before, after) is CORRECT
        assert state(dataclasses.replace(WRITTEN, count_new_only=True), before, after) is WRONG

    def test_zero_asks_that_nothing_was_written(self) -> None:
        """With an expected count of 0, doing nothing is right and any matching write is wrong."""
        none = dataclasses.replace(WRITTEN, expected_count=0)
        assert state(none, [], []) is CORRECT
        assert state(none, [], [row(1)]) is WRONG
        assert state(none, [row(1)], [row(1)]) is ABSENT
        assert state(dataclasses.replace(none, count_new_only=True), [row(1, text="a")], [row(1)]) is WRONG

    def test_a_deletion_can_be_asked_for(self) -> None:
        """No record left, loss licensed: the contract of a deletion."""
        gone = dataclasses.replace(WRITTEN, expected_count=0, forbid_collateral_loss=False)
        assert state(gone, [row(1)], []) is CORRECT
        assert state(gone, [row(1)], [row(1)]) is ABSENT

    def test_counts_are_those_of_the_first_record_effect(self) -> None:
        """A field that is read back first does not hide how many records there are."""
        second = dataclasses.replace(WRITTEN, expected_count=3)
        finding = judge([READ_BACK, second], SCHEMA, {"notes": []}, {"notes": [row(1), row(2)]})
        assert (finding.observed_count, finding.expected_count) == (2, 3)
        alone = judge([READ_BACK], SCHEMA, {"notes": []}, {"notes": [row(1)]})
        assert (alone.observed_count, alone.expected_count) == (1, 1)


class TestFieldEquals:
    def test_every_written_record_must_hold_the_value(self) -> None:
        """One right record does not excuse a second that is not."""
        assert state(READ_BACK, [], [row(1), row(2)]) is CORRECT
        assert state(READ_BACK, [], [row(1), row(2, text="u")]) is WRONG

    def test_untouched_records_do_not_matter(self) -> None:
        """What stood there with another value is no failure of this trial."""
        assert state(READ_BACK, [row(1, text="u")], [row(1, text="u"), row(2)]) is CORRECT

    def test_an_update_in_place_fulfils_it(self) -> None:
        """Only the named field may change; another one that changes along is not licensed."""
        before = [row(1, text="a", owner="x")]
        assert state(READ_BACK, before, [row(1, owner="x")]) is CORRECT
        assert state(READ_BACK, before, [row(1, owner="y")]) is WRONG
        assert state(READ_BACK, before, [row(1, text="b", owner="x")]) is WRONG


class TestLicences:
    def test_further_expectations_must_hold_and_are_licensed(self) -> None:
        """``also`` names more fields of the written records: they may change, to that value and no other."""
        contract = dataclasses.replace(READ_BACK, also={"owner": "me"})
        before = [row(1, text="a", owner="you")]
        assert state(contract, before, [row(1, owner="me")]) is CORRECT
        assert state(contract, before, [row(1, owner="you")]) is WRONG
        assert state(contract, before, [row(1, owner="her")]) is WRONG
        record = dataclasses.replace(WRITTEN, also={"owner": "me"})
        assert state(record, [], [row(1, owner="me")]) is CORRECT
        assert state(record, [], [row(1)]) is WRONG

    def test_lost_records_are_licensed_only_where_no_effect_forbids_it(self) -> None:
        """The licence covers vanished records and nothing else, and every effect has a say."""
        loose = dataclasses.replace(WRITTEN, forbid_collateral_loss=False)
        before = [row(7, who="p2")]
        assert state(WRITTEN, before, [row(8)]) is WRONG
        assert state(loose, before, [row(8)]) is CORRECT
        assert state((loose, READ_BACK), before, [row(8)]) is WRONG
        assert state(loose, before, [row(7, who="p2", text="u"), row(8)]) is WRONG
        assert state(loose, before, [*before, row(8), row(9, who="p2")]) is WRONG

    def test_bookkeeping_is_always_licensed(self) -> None:
        """Change dates, ids and the audit log move by themselves and say nothing about the record."""
        before: Tables = {"notes": [row(1, who="p2", saved_at="1")], "audit": []}
        after: Tables = {"notes": [row(1, who="p2", saved_at="2")], "audit": [{"id": 1, "what": "x"}]}
        assert judge([WRITTEN], SCHEMA, before, after).state is ABSENT
        written: Tables = {"notes": [*after["notes"], row(2, saved_at="2")], "audit": after["audit"]}
        assert judge([WRITTEN], SCHEMA, before, written).state is CORRECT

    def test_bookkeeping_stays_licensed_where_an_effect_speaks_of_it(self) -> None:
        """Reading a table of the system's own forbids nothing there; the plan refuses such a contract."""
        contract = (dataclasses.replace(WRITTEN, table="audit"),)
        before: Tables = {"notes": [], "audit": []}
        after: Tables = {"notes": [], "audit": [row(1), row(2, who="p2")]}
        assert judge(contract, SCHEMA, before, after).state is CORRECT

    def test_a_record_that_no_longer_matches_was_changed_without_licence(self) -> None:
        """Turning one matching record into something else is not made good by a second one."""
        assert state(WRITTEN, [row(1)], [row(1, who="p2"), row(2)]) is WRONG

    def test_a_record_moved_between_tables_is_lost_in_the_first(self) -> None:
        """Every table is part of the record."""
        contract = (dataclasses.replace(WRITTEN, table="archive"),)
        before: Tables = {"notes": [row(1)], "archive": []}
        assert judge(contract, SCHEMA, before, {"notes": [], "archive": [row(1)]}).state is WRONG

    def test_effects_in_two_tables_are_judged_together(self) -> None:
        """Each effect has its own table; all must hold."""
        contract = (WRITTEN, dataclasses.replace(WRITTEN, table="bills", match={"amount": 5}))
        before: Tables = {"notes": [], "bills": []}
        both: Tables = {"notes": [row(1)], "bills": [{"id": 1, "amount": 5}]}
        assert judge(contract, SCHEMA, before, both).state is CORRECT
        assert judge(contract, SCHEMA, before, {**both, "bills": []}).state is WRONG
        assert judge(contract, SCHEMA, before, before).state is ABSENT

    def test_the_idempotency_key_selects(self) -> None:
        """A record without the key is not the one that the contract speaks of."""
        keyed = dataclasses.replace(WRITTEN, idempotency_key=Param("key"))
        judge_keyed = EffectJudge([keyed], SCHEMA)
        before: Tables = {"notes": []}
        assert judge_keyed.judge({"key": "k"}, before, {"notes": [row(1, key="k")]}).state is CORRECT
        assert judge_keyed.judge({"key": "k"}, before, {"notes": [row(1)]}).state is WRONG


class TestUnreadable:
    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [
            (None, {"notes": []}, "no readable baseline"),
            ({}, {"notes": []}, "table 'notes' is missing in the baseline"),
            ({"notes": []}, {}, "table 'notes' is missing after the arm"),
            ({"notes": [], "bills": []}, {"notes": []}, "table 'bills' is missing after the arm"),
            ({"notes": []}, {"notes": None}, "table 'notes': its rows are a NoneType, not a list"),
            ({"notes": []}, {"notes": "rows"}, "its rows are a str"),
            ({"notes": []}, {"notes": [["id", 1]]}, "a row is a list, not a record"),
            ({"notes": [5]}, {"notes": []}, "a row is a int, not a record"),
            ({"notes": []}, {"notes": [row(1), row(1)]}, "two rows have the id 1"),
            ({"notes": [row(1), row(1)]}, {"notes": []}, "two rows have the id 1"),
            ({"notes": []}, {"notes": [{"id": True}]}, "an id is a bool"),
            ({"notes": []}, {"notes": [{"id": [1]}]}, "an id is a list"),
            ({"notes": []}, {"notes": [{"id": 1, "who": {"p1"}}]}, "a value of type set is not JSON"),
            ([], {"notes": []}, "the reading before the arm is no set of tables"),
            ({"notes": []}, [], "the reading after the arm is no set of tables"),
        ],
    )
    def test_a_reading_that_is_not_clean_is_unknown(self, before: Any, after: Any, reason: str) -> None:
        """It is neither wrong nor a crash, and the reason names what is not clean."""
        finding = judge([WRITTEN], SCHEMA, before, after)
        assert finding.state is UNREADABLE
        assert reason in finding.reason
        assert (finding.observed_count, finding.seen) == (None, None)
        assert verify([WRITTEN], SCHEMA, before, after) is Verdict.INDETERMINATE

    def test_a_new_table_is_read_as_one_that_was_empty(self) -> None:
        """An arm that adds a table is seen by what it put there, and cannot make the record unreadable by it."""
        before: Tables = {"notes": []}
        assert judge([WRITTEN], SCHEMA, before, {"notes": [row(1)], "extra": []}).state is CORRECT
        assert judge([WRITTEN], SCHEMA, before, {"notes": [row(1)], "extra": [{"id": 1}]}).state is WRONG

    def test_missing_bookkeeping_is_no_matter(self) -> None:
        """What is no part of the record cannot make it unreadable."""
        assert judge([WRITTEN], SCHEMA, {"notes": [], "audit": []}, {"notes": []}).state is ABSENT


@pytest.mark.parametrize("contract", [[], [dataclasses.replace(READ_BACK, field=None)]])
def test_a_contract_that_means_nothing_is_refused(contract: list[Effect]) -> None:
    """The judge is not built from a contract without effects, or from a read-back of no field."""
    with pytest.raises(ValueError, match="needs a"):
        EffectJudge(contract, SCHEMA)


def test_a_verdict_follows_from_the_state() -> None:
    """Confirmed exactly for CORRECT, indeterminate exactly for UNREADABLE."""
    assert [verdict_of(one) for one in (CORRECT, WRONG, ABSENT, UNREADABLE)] == [
        Verdict.CONFIRMED,
        Verdict.REFUTED,
        Verdict.REFUTED,
        Verdict.INDETERMINATE,
    ]


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ([row(1), row(2)], "2 matching records, expected 1"),
        ([row(1, text="u")], "'text': 'u' is not 't'"),
        ([row(1), row(2, who="p2")], "a record that the contract does not select was created in 'notes'"),
        ([], "no record that the contract selects was created or changed"),
        ([row(1)], "every effect holds and nothing else changed"),
    ],
)
def test_the_reason_says_what_was_found(after: list[Record], reason: str) -> None:
    """A reader of the report learns from one sentence why the state is what it is."""
    assert judge([WRITTEN, READ_BACK], SCHEMA, {"notes": []}, {"notes": after}).reason == reason


def test_each_table_has_the_key_that_its_provider_names() -> None:
    """Rows of a table with a key of its own are told apart by it, in the table of the effect and in every other."""
    schema = SCHEMA._replace(keys={"notes": ("who", "day"), "rates": ("code",)})
    contract = [dataclasses.replace(READ_BACK, match={"who": "p1", "day": 2})]
    old: list[Record] = [{"who": "p1", "day": 1, "text": "s"}, {"who": "p1", "day": 2, "text": "s"}]
    new: list[Record] = [{"who": "p1", "day": 1, "text": "s"}, {"who": "p1", "day": 2, "text": "t"}]
    before: Tables = {"notes": old, "rates": [{"code": "a", "rate": 1}], "other": [{"id": 1}]}
    assert judge(contract, schema, before, {**before, "notes": new}).state is CORRECT
    dearer = judge(contract, schema, before, {**before, "notes": new, "rates": [{"code": "a", "rate": 2}]})
    assert dearer.reason == "a record of 'rates' was changed in 'rate', which is not licensed"
    twice = judge(contract, schema, before, {**before, "rates": [{"code": "a"}, {"code": "a"}]})
    assert (twice.state, twice.reason) == (UNREADABLE, "table 'rates': two rows have the id 'a'")
