"""An encounter as a client sends it, checked at the application's border."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

TYPES: Final = ("Triage", "Consult", "Urgent")
NOTE_CHARS_MAX: Final = 4096
FIELD_CHARS_MAX: Final = 256
WEIGHT_UNIT: Final = "kg"
WEIGHT_CODE: Final = "body-weight"
TENANT: Final = "main"
USED_KEY: Final = "form-7"
"""The key of a form that was saved before; a client that loses count sends it again."""
CONFUSED_PATIENT: Final = "p2"
"""In whose chart an encounter ends where charts are confused."""

SOURCE_CLIENT: Final = "client"
SOURCE_OTHER: Final = "other"


class Draft(NamedTuple):
    """What the form holds.

    Attributes:
        key: the idempotency key, or None where the client sends none.
        seen_at: ISO 8601 with its offset.
        weight_kg: a decimal as text, as it was typed.
    """

    patient_id: str
    type: str
    note: str = ""
    key: str | None = None
    clinician: str | None = None
    seen_at: str | None = None
    weight_kg: str | None = None


def parse_draft(body: object) -> tuple[Draft | None, list[str]]:
    """A draft from a request's JSON, or every problem of it."""
    if not isinstance(body, dict):
        return None, ["an encounter is an object"]
    problems = [f"there is no field {name!r}" for name in body if name not in Draft._fields]
    values: dict[str, Any] = {name: body[name] for name in Draft._fields if body.get(name) is not None}
    for name, value in values.items():
        limit = NOTE_CHARS_MAX if name == "note" else FIELD_CHARS_MAX
        if not isinstance(value, str):
            problems.append(f"{name} must be text")
        elif len(value) > limit:
            problems.append(f"{name} has {len(value)} characters, at most {limit} are allowed")
    problems += [f"{name} is missing" for name in ("patient_id", "type") if not values.get(name)]
    if values.get("type") and values["type"] not in TYPES:
        problems.append(f"type must be one of {', '.join(TYPES)}")
    return (None, problems) if problems else (Draft(**values), [])
