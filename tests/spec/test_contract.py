"""The contract language: parameters, hashes, and what a contract may not say."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.contract import (
    Effect,
    EffectKind,
    FieldType,
    Param,
    Risk,
    UnresolvedParam,
    contract_digest,
    contract_hash,
    contract_problems,
    effect_json,
    resolve,
    selector,
    unresolved,
)
from spec.reading import RecordSchema

MATCH = {"patient_id": "p1", "type": "Triage"}
WRITTEN = Effect(EffectKind.RECORD_WRITTEN, MATCH)
READ_BACK = Effect(EffectKind.FIELD_EQUALS, MATCH, field="note", value=Param("note"))


class TestParameters:
    def test_every_parameter_is_replaced_wherever_it_stands(self) -> None:
        """Selector, value, idempotency key and further expectations all take the trial's values."""
        effect = Effect(
            EffectKind.FIELD_EQUALS,
            {"patient_id": Param("who"), "type": "Triage"},
            field="note",
            value=Param("note"),
            idempotency_key=Param("key"),
            also={"source": Param("source")},
        )
        (resolved,) = resolve([effect], {"who": "p1", "note": "n", "key": "k", "source": "agent"})
        assert dict(resolved.match) == MATCH
        assert (resolved.value, resolved.idempotency_key, dict(resolved.also)) == ("n", "k", {"source": "agent"})

    def test_an_unresolved_parameter_is_refused(self) -> None:
        """A value that the trial does not have is an error, never the empty text."""
        with pytest.raises(UnresolvedParam, match="'note'"):
            resolve([WRITTEN, READ_BACK], {"nota": ""})

    def test_a_parameter_that_is_null_is_resolved(self) -> None:
        """Null is a value that a trial can give; it is not the lack of one."""
        assert resolve([READ_BACK], {"note": None})[0].value is None
        assert unresolved([READ_BACK], {"note": None}) == []

    def test_missing_parameters_are_all_named_once(self) -> None:
        """The plan can list everything that is missing at once."""
        effect = Effect(EffectKind.RECORD_WRITTEN, {"a": Param("x"), "b": Param("y")}, also={"c": Param("x")})
        assert unresolved([effect, READ_BACK], {"y": 1}) == ["x", "note"]

    def test_the_idempotency_key_is_one_more_term_of_the_selector(self) -> None:
        """It selects on its own field, and only where it is given."""
        keyed = dataclasses.replace(WRITTEN, idempotency_key="k-1", key_field="request_id")
        assert selector(keyed) == {**MATCH, "request_id": "k-1"}
        assert selector(WRITTEN) == MATCH


class TestPublicHash:
    def test_it_equals_the_vector(self) -> None:
        """The published value of the plainest contract comes out."""
        expected = "sha256:ee92689f85689bbd45ea87b6c554857d0f2f80dea54711581bf79ca6953a698a"
        assert contract_hash(WRITTEN) == expected

    def test_a_parameter_prints_as_its_name_in_braces(self) -> None:
        """An authored contract hashes as if the placeholder were the text."""
        assert contract_hash(READ_BACK) == contract_hash(dataclasses.replace(READ_BACK, value="{note}"))

    @given(st.text() | st.integers() | st.booleans() | st.none())
    def test_hashing_with_values_is_hashing_the_resolved_effect(self, value: Any) -> None:
        """The short cut for the trial's hash gives what resolving first gives."""
        effect = dataclasses.replace(READ_BACK, idempotency_key=Param("note"), match={"a": Param("note"), "b": 5})
        expected = contract_hash(resolve([effect], {"note": value})[0])
        assert contract_hash(effect, {"note": value}) == expected

    def test_new_records_only_changes_it_where_it_is_true(self) -> None:
        """The flag stands in the hashed text only where it is set."""
        assert contract_hash(dataclasses.replace(WRITTEN, count_new_only=True)) != contract_hash(WRITTEN)

    @pytest.mark.parametrize(
        "change",
        [
            {"timeout_s": 0.0},
            {"types": {"type": FieldType.INT}},
            {"also": {"a": 1}},
            {"table": "t"},
            {"risk": Risk.REVERSIBLE},
            {"probe": "look"},
        ],
    )
    def test_it_does_not_cover_what_the_public_format_lacks(self, change: dict[str, Any]) -> None:
        """Times, types, tables and notes are ours, so the public hash stays what others compute."""
        assert contract_hash(dataclasses.replace(WRITTEN, **change)) == contract_hash(WRITTEN)


CHANGES: dict[str, Any] = {
    "kind": EffectKind.FIELD_EQUALS,
    "match": {"patient_id": "p2"},
    "field": "note",
    "value": "n",
    "expected_count": 2,
    "idempotency_key": "k",
    "key_field": "request_id",
    "count_new_only": True,
    "forbid_collateral_loss": False,
    "risk": Risk.REVERSIBLE,
    "probe": "look",
    "timeout_s": 0.0,
    "table": "billing",
    "types": {"type": FieldType.INT},
    "also": {"source": "agent"},
}


class TestOwnDigest:
    @pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Effect)])
    def test_it_covers_every_field(self, name: str) -> None:
        """A contract that differs anywhere has another digest; a new field cannot be forgotten here."""
        changed = dataclasses.replace(WRITTEN, **{name: CHANGES[name]})
        assert contract_digest([changed]) != contract_digest([WRITTEN])

    def test_a_parameter_is_not_the_text_that_names_it(self) -> None:
        """Our digest tells a parameter from a literal in braces, which the public hash cannot."""
        literal = dataclasses.replace(READ_BACK, value="{note}")
        assert contract_digest([READ_BACK]) != contract_digest([literal])

    def test_it_covers_every_part_in_order(self) -> None:
        """The first effect is the main one, so order matters."""
        assert contract_digest([WRITTEN, READ_BACK]) != contract_digest([READ_BACK, WRITTEN])
        assert effect_json(READ_BACK)["value"] == {"param": "note"}


class TestProblems:
    def test_a_sound_contract_has_none(self) -> None:
        """The contracts of the reference packs pass, bookkeeping known or not."""
        schema = RecordSchema("encounters", bookkeeping_tables=("banner",))
        assert contract_problems([WRITTEN, READ_BACK]) == []
        assert contract_problems([WRITTEN, READ_BACK], schema) == []
        assert contract_problems([dataclasses.replace(WRITTEN, expected_count=0, count_new_only=True)]) == []

    @pytest.mark.parametrize(
        ("effect", "problem"),
        [
            (dataclasses.replace(WRITTEN, match={}), "match is empty"),
            (dataclasses.replace(READ_BACK, field=None), "field_equals needs a field"),
            (dataclasses.replace(READ_BACK, field=""), "field_equals needs a field"),
            (dataclasses.replace(READ_BACK, field="type"), "which its own selector fixes already"),
            (dataclasses.replace(READ_BACK, count_new_only=True), "count_new_only belongs to record_written"),
            (dataclasses.replace(WRITTEN, field="note"), "field and value belong to field_equals"),
            (dataclasses.replace(WRITTEN, value="n"), "field and value belong to field_equals"),
            (dataclasses.replace(WRITTEN, idempotency_key="k", key_field="type"), "both fix 'type'"),
            (dataclasses.replace(WRITTEN, also={"": 1}), "a field has an empty name"),
            (dataclasses.replace(WRITTEN, expected_count=-1), "expected_count must be a count"),
            (dataclasses.replace(WRITTEN, expected_count=True), "expected_count must be a count"),
            (dataclasses.replace(WRITTEN, timeout_s=float("inf")), "timeout_s must be a finite number"),
            (dataclasses.replace(WRITTEN, timeout_s=float("nan")), "timeout_s must be a finite number"),
            (dataclasses.replace(WRITTEN, timeout_s=-0.5), "timeout_s must be a finite number"),
            (dataclasses.replace(WRITTEN, also={"amount": float("nan")}), "'amount' can never equal nan as text"),
            (
                dataclasses.replace(WRITTEN, also={"amount": "many"}, types={"amount": FieldType.INT}),
                "'amount' can never equal 'many' as int",
            ),
        ],
    )
    def test_what_cannot_be_judged_is_named(self, effect: Effect, problem: str) -> None:
        """A contract that means nothing, or that no record can meet, is refused with the effect's place."""
        (found,) = contract_problems([WRITTEN, effect])
        assert found.startswith("effect 2: ")
        assert problem in found

    def test_an_empty_contract_is_refused(self) -> None:
        """Nothing asked for is no task."""
        assert contract_problems([]) == ["a contract needs at least one effect"]

    def test_bookkeeping_cannot_be_asked_for(self) -> None:
        """What the system may change at will can prove nothing."""
        schema = RecordSchema("encounters", bookkeeping_fields=("id", "note"), bookkeeping_tables=("banner",))
        effect = dataclasses.replace(READ_BACK, table="banner", also={"id": 5})
        assert contract_problems([effect], schema) == [
            "effect 1: table 'banner' is the system's own bookkeeping",
            "effect 1: field 'note' is the system's own bookkeeping",
            "effect 1: field 'id' is the system's own bookkeeping",
        ]

    def test_a_field_has_one_type_in_its_table(self) -> None:
        """Two effects may not read one field in two ways; in another table it is another field."""
        one = dataclasses.replace(WRITTEN, types={"amount": FieldType.INT})
        other = dataclasses.replace(WRITTEN, types={"amount": FieldType.TEXT})
        assert contract_problems([one, other]) == ["field 'amount' is declared as int and as text"]
        assert contract_problems([one, dataclasses.replace(other, table="bills")]) == []

    def test_all_problems_are_listed_at_once(self) -> None:
        """Nobody has to fix a contract one message at a time."""
        effect = dataclasses.replace(READ_BACK, match={}, expected_count=-1, timeout_s=-1.0)
        assert len(contract_problems([effect])) == 3
