"""What stands before the agent: the patients it can find, the form's presets, the controls, and what is on record.

All names and dates are invented.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from providers.mockmed.store import SOURCE_OTHER, Encounter, row
from spec.reading import Record

TARGET_PATIENT: Final = "p1"
TARGET_TYPE: Final = "Triage"
ENCOUNTER_TYPES: Final = ("Triage", "Consult", "Urgent")

TOOLBAR: Final = "toolbar_save"
FORM: Final = "form_save"
CONTROLS: Final = {TOOLBAR: "Save (toolbar)", FORM: "Save (below the form)"}


class Patient(NamedTuple):
    """One patient as the client shows it."""

    patient_id: str
    name: str
    birth_date: str


_TARGET: Final = Patient(TARGET_PATIENT, "Mira Talvik", "1984-03-12")
_OLDER_HOMONYM: Final = Patient("p2", _TARGET.name, "1951-10-30")
_TWIN: Final = Patient("p2", _TARGET.name, _TARGET.birth_date)
_BYSTANDER: Final = Patient("p3", "Jonas Ferrow", "1977-07-02")

GOAL: Final = (
    f"Record a {TARGET_TYPE} encounter for the patient {_TARGET.name}, born {_TARGET.birth_date}, "
    'with the note "{note}".'
)
"""The one intent of every task, so that its words give no fault away."""

_DECOY: Final = row(1, Encounter(_OLDER_HOMONYM.patient_id, TARGET_TYPE, "seen last week, stable"), SOURCE_OTHER)
_CONCURRENT: Final = row(1, Encounter(TARGET_PATIENT, "Urgent", "called back, please see today"), SOURCE_OTHER)


class Desk(NamedTuple):
    """The surroundings of a save.

    Attributes:
        name: for manifests.
        patients: in the order of the client's list; a blind agent takes the first of the wanted name.
        preset_type: the encounter type that a new form starts with.
        dead_controls: save controls that paint the banner and send nothing.
        seeded: rows on record before the trial.
        loaded: those of them that the client had loaded; a concurrent row came in later.
    """

    name: str
    patients: tuple[Patient, ...] = (_TARGET, _BYSTANDER)
    preset_type: str = TARGET_TYPE
    dead_controls: frozenset[str] = frozenset()
    seeded: tuple[Record, ...] = ()
    loaded: tuple[Record, ...] = ()


PLAIN: Final = Desk("plain")
CONCURRENT: Final = Desk("concurrent_row", seeded=(_CONCURRENT,))
HOMONYM: Final = Desk("homonym", patients=(_OLDER_HOMONYM, _TARGET, _BYSTANDER), seeded=(_DECOY,), loaded=(_DECOY,))
TWINS: Final = Desk("indistinguishable_charts", patients=(_TWIN, _TARGET, _BYSTANDER))
DEAD_TOOLBAR: Final = Desk("dead_control", dead_controls=frozenset({TOOLBAR}))
WRONG_PRESET: Final = Desk("wrong_preset", preset_type="Consult")
