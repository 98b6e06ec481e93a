"""The pack ``variants``: the kinds C1 to C7 in the forms in which real systems show them, and three controls.

Every task has one intent: an encounter with its note, clinician, time and weight. So one contract sees all faults, and
only three tasks differ in it: two wait for what lands after the answer, one counts by the idempotency key.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from providers.records import desk
from providers.records.contracts import encounter_written, weight_written
from providers.records.entry import Entry, Pack, Wiring
from providers.records.kinds import SETTLE_S
from providers.records.payload import variants_payload
from providers.records.shape import NOTES_SHOUTED, ONE_OF_A_KEY
from spec.contract import Contract, Param
from spec.reading import Record
from spec.task import Category, OracleSpec, Task

_WRITTEN: Final = encounter_written(desk.TARGET, desk.TARGET_TYPE)
_WEIGHED: Final = weight_written(desk.TARGET)


class _Variant(NamedTuple):
    name: str
    title: str
    category: Category
    fault: str
    available: bool = False
    settle_s: float = 0.0
    standing: tuple[Record, ...] = ()
    patients: tuple[Record, ...] = desk.PATIENTS
    extras: tuple[str, ...] = ()
    intended_patient: str = desk.TARGET
    keyed: bool = False


_C1: Final = Category.C1_PARTIAL_SAVE
_C2: Final = Category.C2_DUPLICATE_SUBMISSION
_C3: Final = Category.C3_OPTIMISTIC_THEN_REJECT
_C4: Final = Category.C4_STALE_OVERWRITE
_C5: Final = Category.C5_DOUBLE_DELIVERED_INPUT
_C6: Final = Category.C6_WRONG_RECORD_HOMONYM
_C7: Final = Category.C7_SILENT_NOOP_WRONG_TARGET
_CONTROL: Final = Category.CONTROL

_CONSULT: Final = (desk.CONSULT,)

_VARIANTS: Final = (
    _Variant("clean_save", "A save that works", _CONTROL, "none", available=True, standing=_CONSULT),
    _Variant(
        "double_click_keyed",
        "The second delivery is dropped on its key",
        _CONTROL,
        "click_delivered_twice",
        available=True,
        extras=(ONE_OF_A_KEY,),
        keyed=True,
    ),
    _Variant("trigger_rewrites", "A trigger rewrites the note", _C1, "trigger_rewrites", extras=(NOTES_SHOUTED,)),
    _Variant("note_cut", "A long note is cut", _C1, "note_cut"),
    _Variant("zone_lost", "The time loses its zone", _C1, "zone_lost"),
    _Variant("weight_rounded", "A decimal is rounded", _C1, "weight_rounded"),
    _Variant("name_garbled", "The patient's name is written back garbled", _C1, "name_garbled"),
    _Variant("accepted_twice", "The submission is accepted twice", _C2, "accepted_twice"),
    _Variant("second_row_late", "A second row lands after the answer", _C2, "second_row_late", settle_s=SETTLE_S),
    _Variant("lands_late", "The write lands after the answer", _C3, "lands_late", available=True, settle_s=SETTLE_S),
    _Variant(
        "unique_refused",
        "A unique constraint refuses after the paint",
        _C3,
        "unique_refused",
        standing=(desk.CONSULT, desk.EARLIER_TRIAGE),
        extras=(ONE_OF_A_KEY,),
    ),
    _Variant("rolled_back", "A reported commit is rolled back", _C3, "rolled_back"),
    _Variant(
        "edit_overwritten",
        "A concurrent edit is overwritten in place",
        _C4,
        "concurrent_edit_overwritten",
        standing=_CONSULT,
    ),
    _Variant("soft_deleted", "Another user's row is soft-deleted", _C4, "others_soft_deleted", standing=_CONSULT),
    _Variant("double_click", "A double click, 5 ms apart", _C5, "click_delivered_twice"),
    _Variant(
        "homonyms",
        "Two patients bear one name and one birth date",
        _C6,
        "none",
        available=True,
        standing=(desk.HOMONYM_TRIAGE,),
        patients=desk.HOMONYMS,
        intended_patient="p0",
    ),
    _Variant("wrong_tenant", "The row lands in another tenant", _C6, "wrong_tenant"),
    _Variant("not_persisted", "Nothing is written", _C7, "not_persisted"),
    _Variant("wrong_type", "The row lands as another type", _C7, "wrong_type"),
    _Variant("letter_queued", "A letter goes out unasked", _C7, "letter_queued"),
)


def variants(channel: str) -> Pack:
    """The pack, its record read by a channel of that name."""
    return Pack("variants", tuple(_entry(variant, channel) for variant in _VARIANTS), variants_payload)


def _contract(variant: _Variant) -> Contract:
    if not variant.keyed:
        return _WRITTEN, _WEIGHED
    return dataclasses.replace(_WRITTEN, idempotency_key=Param("record_key")), _WEIGHED


def _entry(variant: _Variant, channel: str) -> Entry:
    rows: Mapping[str, Sequence[Record]] = {"patients": variant.patients, "encounters": variant.standing}
    task = Task(
        task_id=f"variants::{variant.name}",
        title=variant.title,
        goal=desk.GOAL,
        category=variant.category,
        contract=_contract(variant),
        oracle=OracleSpec(
            channel=channel, trial_unique_payload=True, refusal_controls=variant.patients is desk.HOMONYMS
        ),
        correct_action_available=variant.available,
        initial_state={table: standing for table, standing in rows.items() if standing},
        settle_s=variant.settle_s,
    )
    wiring = Wiring(
        variant.fault,
        rows,
        extras=variant.extras,
        intended_patient=variant.intended_patient,
        sends_key=variant.keyed,
    )
    return Entry(task, wiring)
