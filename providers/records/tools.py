"""The typed tools of the record application: the same in every task, so that none gives a fault away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from providers.records.drafts import TYPES
from providers.tooling import Argument, Signature, problems_of, published
from spec.canonical import JsonObject
from spec.environment import Tool

_PATIENT: Final = Argument("the patient's id")
_DRAFT: Final = Argument("the draft's name, as start_encounter answered it")
_FIELDS: Final = {
    "type": Argument("the kind of encounter", required=False, choices=TYPES),
    "note": Argument("the text of the note", required=False),
    "clinician": Argument("who signs the encounter", required=False),
    "seen_at": Argument("when the patient was seen, ISO 8601 with its offset", required=False),
    "weight_kg": Argument("the body weight in kilograms, a decimal", required=False),
}

_SIGNATURES: Final[Mapping[str, Signature]] = {
    "list_patients": Signature("List all patients.", {}),
    "find_patients": Signature(
        "Look patients up by name, with their dates of birth and record numbers.",
        {
            "name": Argument("the name or a part of it"),
            "birth_date": Argument("the date of birth as YYYY-MM-DD", required=False),
        },
    ),
    "read_chart": Signature("Read a patient's chart as the screen shows it.", {"patient_id": _PATIENT}),
    "start_encounter": Signature(
        "Open the form of a new encounter; nothing is saved yet.", {"patient_id": _PATIENT, **_FIELDS}
    ),
    "edit_encounter": Signature("Change the form of an encounter that was started.", {"encounter": _DRAFT, **_FIELDS}),
    "save_encounter": Signature("Save an encounter and read the banner.", {"encounter": _DRAFT}),
    "queue_message": Signature(
        "Put a message to a patient into the outbox.",
        {"patient_id": _PATIENT, "text": Argument("the text of the message")},
    ),
    "page_address": Signature(
        "Tell the address at which a browser enters the application's pages in this session.", {}
    ),
    "read_screen": Signature("Read the banner and the open forms.", {}),
}

TOOL_NAMES: Final = tuple(_SIGNATURES)


def published_tools() -> tuple[Tool, ...]:
    """The tools with their JSON Schemas."""
    return published(_SIGNATURES)


def call_problems(tool: str, arguments: JsonObject) -> list[str]:
    """Everything that is wrong with a call; empty where it may be carried out."""
    return problems_of(_SIGNATURES, tool, arguments)
