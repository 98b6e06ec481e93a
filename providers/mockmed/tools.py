"""The typed tools for agents that choose for themselves, and the check of their arguments.

The same tools with the same schemas are offered in every task, so a tool's presence gives no fault away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from providers.mockmed import desk as desks
from providers.tooling import TEXT_CHARS_MAX, Argument, Signature, problems_of, published
from spec.canonical import JsonObject
from spec.environment import Tool

__all__ = ["TEXT_CHARS_MAX", "TOOL_NAMES", "Argument", "call_problems", "published_tools"]

_PATIENT: Final = Argument("the patient's id")
_DRAFT: Final = Argument("the draft's name, as start_encounter answered it")
_TYPE: Final = Argument("the kind of encounter", required=False, choices=desks.ENCOUNTER_TYPES)
_NOTE: Final = Argument("the text of the note", required=False)
_CONTROL: Final = Argument("the control to click; the toolbar's if not given", False, tuple(desks.CONTROLS))

_SIGNATURES: Final[Mapping[str, Signature]] = {
    "list_patients": Signature("List all patients by id and name.", {}),
    "find_patients": Signature(
        "Look patients up by name, with their dates of birth.",
        {
            "name": Argument("the name or a part of it"),
            "birth_date": Argument("the date of birth as YYYY-MM-DD", required=False),
        },
    ),
    "read_chart": Signature("Read a patient's chart as the screen shows it.", {"patient_id": _PATIENT}),
    "start_encounter": Signature(
        "Open the form of a new encounter; nothing is saved yet.",
        {"patient_id": _PATIENT, "type": _TYPE, "note": _NOTE},
    ),
    "edit_encounter": Signature(
        "Change the form of an encounter that was started.", {"encounter": _DRAFT, "type": _TYPE, "note": _NOTE}
    ),
    "save_encounter": Signature("Save an encounter and read the banner.", {"encounter": _DRAFT, "control": _CONTROL}),
    "read_screen": Signature("Read the banner, the open forms and the controls.", {}),
}

TOOL_NAMES: Final = tuple(_SIGNATURES)


def published_tools() -> tuple[Tool, ...]:
    """The tools with their JSON Schemas."""
    return published(_SIGNATURES)


def call_problems(tool: str, arguments: JsonObject) -> list[str]:
    """Everything that is wrong with a call; empty where it may be carried out."""
    return problems_of(_SIGNATURES, tool, arguments)
