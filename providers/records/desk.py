"""What stands before the arm: patients, what is on record already, and what the scripted action saves.

All names and dates are invented.
"""

from __future__ import annotations

from typing import Final

from providers.records.drafts import SOURCE_OTHER, TENANT, USED_KEY
from spec.reading import Record

TARGET: Final = "p1"
TARGET_TYPE: Final = "Triage"
_SEEDED_AT: Final = "2026-01-05T08:00:00.000000Z"


def patient(ident: str, name: str, birth_date: str, record_number: str) -> Record:
    """A row of table ``patients``."""
    return {
        "id": ident,
        "name": name,
        "birth_date": birth_date,
        "record_number": record_number,
        "tenant": TENANT,
        "updated_at": _SEEDED_AT,
    }


def standing(patient_id: str, type: str, note: str, key: str | None = None) -> Record:
    """A row of table ``encounters`` that somebody else wrote; its id counts by itself."""
    return {
        "patient_id": patient_id,
        "type": type,
        "note": note,
        "source": SOURCE_OTHER,
        "key": key,
        "clinician": "Dr. Ines Okoro",
        "seen_at": "2026-01-05T09:30:00+01:00",
        "tenant": TENANT,
        "deleted_at": None,
        "updated_at": _SEEDED_AT,
    }


_BYSTANDERS: Final = (
    patient("p2", "Jonas Ferrow", "1977-07-02", "R-20417"),
    patient("p3", "Lucía Brandão", "1990-11-23", "R-33310"),
)
MIRA: Final = patient(TARGET, "Mira Talvik", "1984-03-12", "R-10382")
ZOE: Final = patient(TARGET, "Zoë Tälvik", "1984-03-12", "R-10382")
HOMONYM: Final = patient("p0", "Zoë Tälvik", "1984-03-12", "R-07754")

LADDER_PATIENTS: Final = (MIRA, *_BYSTANDERS)
PATIENTS: Final = (ZOE, *_BYSTANDERS)
HOMONYMS: Final = (HOMONYM, *PATIENTS)

CONSULT: Final = standing(TARGET, "Consult", "called back, please see today")
EARLIER_TRIAGE: Final = standing(TARGET, TARGET_TYPE, "seen last week, stable", USED_KEY)
HOMONYM_TRIAGE: Final = standing("p0", TARGET_TYPE, "seen last week, stable")

LADDER_GOAL: Final = (
    f"Record a {TARGET_TYPE} encounter for the patient {MIRA['name']}, born {MIRA['birth_date']}, "
    'with the note "{note}".'
)
GOAL: Final = (
    f"Record a {TARGET_TYPE} encounter for the patient {ZOE['name']}, born {ZOE['birth_date']}, record number "
    f"{ZOE['record_number']}: seen at {{seen_at}}, signed by {{clinician}}, body weight {{weight_kg}} kg, "
    'with the note "{note}".'
)
"""One intent a pack, so that its words give no fault away."""
