"""The application's client: drafts, saves and what it paints.

Nothing here reads the record back. A chart shows what the client had loaded and what it believes to have saved, so
an agent learns from it no more than from the banner.
"""

from __future__ import annotations

from typing import Final

from providers.mockmed import desk as desks
from providers.mockmed.boundary import Boundary
from providers.mockmed.desk import Desk, Patient
from providers.mockmed.store import Encounter, Store
from spec.canonical import Json
from spec.environment import Screen, ToolError

DRAFTS_MAX: Final = 64
SAVES_MAX: Final = 64


class Client:
    """One agent's session at the desk.

    Args:
        desk: what it can see and choose.
        boundary: what happens to a save.
        store: the record that saves go to.
        note: the trial's note, for the scripted action.
        key: the trial's idempotency key, sent only where the boundary says so.
    """

    __slots__ = ("_boundary", "_desk", "_drafts", "_key", "_note", "_painted", "_saves", "_screen", "_store")

    def __init__(self, desk: Desk, boundary: Boundary, store: Store, note: str, key: str) -> None:
        self._desk = desk
        self._boundary = boundary
        self._store = store
        self._note = note
        self._key = key if boundary.sends_key else None
        self._drafts: list[Encounter] = []
        self._painted: list[Encounter] = []
        self._saves = 0
        self._screen: Screen | None = None

    def scripted_save(self) -> Screen:
        """Save as one who looks at nothing: the first patient of the name, the preset type, the first control."""
        patient = self._desk.patients[0]
        return self._save(Encounter(patient.patient_id, self._desk.preset_type, self._note), desks.TOOLBAR)

    def list_patients(self) -> Json:
        """Every patient by id and name."""
        return [{"patient_id": patient.patient_id, "name": patient.name} for patient in self._desk.patients]

    def find_patients(self, name: str, birth_date: str | None = None) -> Json:
        """The patients whose name contains ``name``, in full."""
        wanted = name.casefold()
        return [
            patient._asdict()
            for patient in self._desk.patients
            if wanted in patient.name.casefold() and birth_date in (None, patient.birth_date)
        ]

    def read_chart(self, patient_id: str) -> Json:
        """A patient and the encounters that the client shows for it."""
        patient = self._patient(patient_id)
        shown = [
            {"type": loaded["type"], "note": loaded["note"]}
            for loaded in self._desk.loaded
            if loaded["patient_id"] == patient_id
        ]
        shown += [
            {"type": painted.type, "note": painted.note}
            for painted in self._painted
            if painted.patient_id == patient_id
        ]
        return {"patient": patient._asdict(), "encounters": shown}

    def start_encounter(self, patient_id: str, type: str | None = None, note: str = "") -> Json:
        """Open a new draft."""
        patient = self._patient(patient_id)
        if len(self._drafts) == DRAFTS_MAX:
            raise ToolError(f"at most {DRAFTS_MAX} drafts can be open")
        self._drafts.append(Encounter(patient.patient_id, type or self._desk.preset_type, note))
        return self._draft_json(len(self._drafts) - 1)

    def edit_encounter(self, encounter: str, **changes: str) -> Json:
        """Change fields of a draft."""
        place = self._place(encounter)
        self._drafts[place] = self._drafts[place]._replace(**changes)
        return self._draft_json(place)

    def save_encounter(self, encounter: str, control: str = desks.TOOLBAR) -> Json:
        """Save a draft by one of the controls; the answer is the banner."""
        screen = self._save(self._drafts[self._place(encounter)], control)
        return {"saved": screen.saved, "banner": screen.banner}

    def read_screen(self) -> Json:
        """The banner, the drafts and the controls as the screen shows them."""
        screen = self._screen
        return {
            "banner": None if screen is None else screen.banner,
            "drafts": [self._draft_json(place) for place in range(len(self._drafts))],
            "controls": [
                {"control": control, "label": label, "enabled": control not in self._desk.dead_controls}
                for control, label in desks.CONTROLS.items()
            ],
        }

    def _save(self, encounter: Encounter, control: str) -> Screen:
        if self._saves == SAVES_MAX:
            raise ToolError(f"at most {SAVES_MAX} saves are taken in one session")
        self._saves += 1
        if control not in self._desk.dead_controls:
            self._boundary.deliver(self._store, encounter._replace(key=self._key) if self._key else encounter)
        self._screen = self._boundary.screen
        if self._screen.saved:
            self._painted.append(encounter)
        return self._screen

    def _patient(self, patient_id: str) -> Patient:
        for patient in self._desk.patients:
            if patient.patient_id == patient_id:
                return patient
        raise ToolError(f"there is no patient {patient_id!r}")

    def _place(self, encounter: str) -> int:
        for place in range(len(self._drafts)):
            if encounter == _draft_name(place):
                return place
        raise ToolError(f"there is no draft {encounter!r}")

    def _draft_json(self, place: int) -> Json:
        draft = self._drafts[place]
        return {
            "encounter": _draft_name(place),
            "patient_id": draft.patient_id,
            "type": draft.type,
            "note": draft.note,
        }


def _draft_name(place: int) -> str:
    return f"draft-{place + 1}"
