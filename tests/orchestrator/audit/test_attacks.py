"""What the red team derives from a contract, without any fixture."""

from __future__ import annotations

from typing import Any

import pytest

from oracle.effect import judge
from orchestrator.audit.attacks import derive
from orchestrator.audit.effects import achieve
from orchestrator.audit.scene import Attack, AttackName, Delete, Inapplicable, Insert, Scene, Step, Update
from spec.contract import Contract, Effect, EffectKind, FieldType, Param, resolve
from spec.reading import RecordSchema, TrueState

SCHEMA = RecordSchema("notes", bookkeeping_fields=("id", "changed"), bookkeeping_tables=("echo",))
STANDING = {
    "notes": [{"id": 1, "patient": 7, "text": "old", "author": "a", "changed": 1}],
    "patients": [{"id": 7, "name": "A"}, {"id": 8, "name": "A"}],
}
WRITTEN = Effect(EffectKind.RECORD_WRITTEN, {"patient": 9, "text": Param("text")}, types={"patient": FieldType.INT})
READ_BACK = Effect(EffectKind.FIELD_EQUALS, {"name": "A"}, field="phone", value=Param("phone"), table="patients")
NONE = Effect(EffectKind.RECORD_WRITTEN, {"patient": 8}, expected_count=0, types={"patient": FieldType.INT})
PARAMS = {"text": "new note", "phone": "123"}
OTHER = {"text": "other note", "phone": "456"}


def scene(*contract: Effect, **changes: Any) -> Scene:
    fields: dict[str, Any] = {
        "contract": resolve(contract, PARAMS),
        "other": resolve(contract, OTHER),
        "schema": SCHEMA,
        "standing": STANDING,
        "sample": {table: rows[0] for table, rows in STANDING.items()},
        "tables": ("notes", "patients", "echo"),
        "final": False,
        "settle_s": 1.0,
    }
    return Scene(**(fields | changes))


def apply(steps: Any, tables: dict[str, list[dict[str, Any]]]) -> None:
    step: Step
    for step in steps:
        rows = tables.setdefault(step.table, [])
        if isinstance(step, Insert):
            rows.append({**step.record, "id": 100 + len(rows)})
            continue
        hit = [row for row in rows if all(row.get(name) == value for name, value in step.match.items())]
        assert hit, step
        if isinstance(step, Update):
            for row in hit:
                row.update(step.fields)
        elif isinstance(step, Delete):
            tables[step.table] = [row for row in rows if row not in hit]


def fresh() -> dict[str, list[dict[str, Any]]]:
    return {table: [dict(row) for row in rows] for table, rows in STANDING.items()}


CONTRACTS: dict[str, Contract] = {
    "written": (WRITTEN,),
    "read back": (READ_BACK,),
    "both": (WRITTEN, READ_BACK),
    "none": (NONE,),
    "two notes": (Effect(EffectKind.RECORD_WRITTEN, {"text": Param("text")}, expected_count=2, count_new_only=True),),
    "also": (Effect(EffectKind.RECORD_WRITTEN, {"author": "me"}, also={"text": Param("text")}),),
    "loss licensed": (Effect(EffectKind.RECORD_WRITTEN, {"text": Param("text")}, forbid_collateral_loss=False),),
    "keyed": (Effect(EffectKind.RECORD_WRITTEN, {"author": "me"}, idempotency_key=Param("text")),),
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_judge_sees_through_every_attack(name: str) -> None:
    """On a record that does as it is told, each attack on each contract is seen, and the right effect is CORRECT."""
    place = scene(*CONTRACTS[name])
    for attack in derive(place):
        if isinstance(attack, Inapplicable):
            continue
        tables = fresh()
        apply(attack.before, tables)
        before = {table: [dict(row) for row in rows] for table, rows in tables.items()}
        apply(attack.during, tables)
        apply(attack.late, tables)
        state = judge(place.contract, SCHEMA, before, tables).state
        assert (state is TrueState.CORRECT) is (attack.name is AttackName.POSITIVE_CONTROL), attack


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_strategy_is_accounted_for(name: str) -> None:
    """Each strategy yields attacks or a reason; only the probe of the fixture is not among them."""
    found = derive(scene(*CONTRACTS[name]))
    assert {one.name for one in found} == set(AttackName) - {AttackName.REACH}
    assert all(one.reason for one in found if isinstance(one, Inapplicable))


def reasons(place: Scene) -> dict[AttackName, str]:
    return {one.name: one.reason for one in derive(place) if isinstance(one, Inapplicable)}


def targets(place: Scene, name: AttackName) -> list[str]:
    return [one.target for one in derive(place) if isinstance(one, Attack) and one.name is name]


def test_late_writes_need_a_record_that_settles() -> None:
    """On a final path, and where nobody waits, nothing can land late; the reason says which."""
    assert "final" in reasons(scene(WRITTEN, final=True))[AttackName.LATE_DUPLICATE]
    assert "settle_s" in reasons(scene(WRITTEN, settle_s=0.0))[AttackName.LATE_OVERWRITE]
    assert AttackName.LATE_DUPLICATE not in reasons(scene(WRITTEN))


def test_a_refusal_has_no_phantom() -> None:
    """Where nothing may be written, nothing written is right, and one record is one too many."""
    found = reasons(scene(NONE))
    assert {AttackName.PHANTOM, AttackName.WRONG_TARGET, AttackName.STALE_ROW} <= set(found)
    (control,) = [one for one in derive(scene(NONE)) if one.name is AttackName.POSITIVE_CONTROL]
    assert control == Attack(AttackName.POSITIVE_CONTROL, during=[])
    assert targets(scene(NONE), AttackName.DUPLICATE) == [""]


def test_every_field_and_table_is_aimed_at() -> None:
    """One wrong payload a value, one wrong target a selecting field, collateral in every table but bookkeeping."""
    place = scene(WRITTEN, READ_BACK)
    assert targets(place, AttackName.WRONG_PAYLOAD) == ["text", "phone"]
    assert targets(place, AttackName.WRONG_TARGET) == ["patient", "text", "name"]
    assert targets(place, AttackName.PAINTED_SCREEN) == ["echo"]
    for name in (AttackName.COLLATERAL_WRITE, AttackName.COLLATERAL_LOSS, AttackName.IN_PLACE_OVERWRITE):
        assert targets(place, name) == ["notes", "patients"]


def test_what_is_licensed_is_no_attack() -> None:
    """Vanished records that the contract licenses, and a table that there is not, are listed with their reasons."""
    assert "licenses" in reasons(scene(*CONTRACTS["loss licensed"]))[AttackName.COLLATERAL_LOSS]
    alone = scene(WRITTEN, tables=("notes",))
    assert reasons(alone)[AttackName.COLLATERAL_WRITE] == "the record has no other table"
    assert AttackName.PRIOR_TRIAL in reasons(scene(WRITTEN, other=resolve((WRITTEN,), PARAMS)))


def test_a_standing_record_is_changed_and_not_doubled() -> None:
    """An effect that reads a field back is brought about in the record that stands there."""
    standing = {"patients": [{"id": 7, "name": "A", "phone": "0"}]}
    place = scene(READ_BACK, standing=standing, sample={"patients": standing["patients"][0]})
    assert achieve(place.contract, place) == [Update("patients", {"id": 7}, {"phone": "123"})]


def test_another_target_is_one_that_stands_there() -> None:
    """A wrong patient is one that exists, so that a foreign key does not turn the attack away."""
    place = scene(Effect(EffectKind.RECORD_WRITTEN, {"patient": 7, "text": Param("text")}), standing={
        **STANDING, "notes": [],
    })  # fmt: skip
    wrong = [one for one in derive(place) if one.name is AttackName.WRONG_TARGET and one.target == "patient"]
    assert isinstance(wrong[0], Attack)
    (step,) = wrong[0].during
    assert isinstance(step, Insert)
    assert step.record["patient"] == 8
