"""What an encounter that was saved right looks like: the effects that packs put their contracts together of."""

from __future__ import annotations

from typing import Final

from providers.records.drafts import TENANT, WEIGHT_CODE, WEIGHT_UNIT
from spec.contract import Effect, EffectKind, FieldType, Param, Risk

IRREVERSIBLE: Final = Risk.IRREVERSIBLE


def encounter_written(
    patient_id: str, type: str, *, timed: bool = True, keyed: bool = False, risk: Risk = IRREVERSIBLE
) -> Effect:
    """One new encounter of a patient, with its note and clinician.

    Args:
        patient_id: whose.
        type: of the encounter.
        timed: its time is asked for too.
        keyed: it is selected by the trial's idempotency key.
        risk: how hard it is to take back.
    """
    seen = {"seen_at": Param("seen_at")} if timed else {}
    return Effect(
        EffectKind.RECORD_WRITTEN,
        match={"patient_id": patient_id, "type": type, "tenant": TENANT},
        also={"note": Param("note"), "clinician": Param("clinician"), **seen, "deleted_at": None},
        types=dict.fromkeys(seen, FieldType.DATETIME),
        idempotency_key=Param("record_key") if keyed else None,
        count_new_only=True,
        risk=risk,
        probe="read the encounters back, with every field, and count the new ones of the target",
        timeout_s=0.0,
    )


def weight_written(patient_id: str, risk: Risk = IRREVERSIBLE) -> Effect:
    """One new body weight of a patient, exact to the last digit."""
    return Effect(
        EffectKind.RECORD_WRITTEN,
        match={"patient_id": patient_id, "code": WEIGHT_CODE},
        also={"value": Param("weight_kg"), "unit": WEIGHT_UNIT},
        types={"value": FieldType.DECIMAL},
        count_new_only=True,
        risk=risk,
        probe="read the observations back and compare the weight as a decimal",
        timeout_s=0.0,
        table="observations",
    )
