"""The words of a generated goal; they follow from what is asked, never from what will become of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from providers.records.draws import Draws
from spec.reading import Record

_FRAMES: Final = (
    "Record {article} {type} encounter for the patient {who}: {what}.",
    "Please enter {article} {type} encounter in the chart of {who}, {what}.",
    "{who} was seen. Document it as {article} {type} encounter, {what}.",
    "We need {article} {type} encounter on record for {who}: {what}.",
)


class Asked(NamedTuple):
    """What a goal asks for.

    Attributes:
        type: of the encounter.
        numbered: the patient's record number is told.
        timed: the time is asked for.
        weighed: the body weight is asked for.
    """

    type: str
    numbered: bool
    timed: bool
    weighed: bool


def goal_text(draws: Draws, patient: Record, asked: Asked) -> str:
    """The intent in plain words, with places for the trial's values; the note comes last."""
    number = f", record number {patient['record_number']}" if asked.numbered else ""
    clauses = ["signed by {clinician}"]
    clauses += ["seen at {seen_at}"] if asked.timed else []
    clauses += ["body weight {weight_kg} kg"] if asked.weighed else []
    return draws.pick(_FRAMES).format(
        article="an" if asked.type == "Urgent" else "a",
        type=asked.type,
        who=f"{patient['name']}, born {patient['birth_date']}{number}",
        what=", ".join([*draws.shuffled(clauses), 'with the note "{note}"']),
    )
