"""The typed tools for agents that choose for themselves, and the check of their arguments.

The same tools with the same schemas are offered in every task, so a tool's presence gives no fault away. The check
uses tables of its own: an arm in this process could change the published schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from providers.mockmed import desk as desks
from spec.canonical import Json, JsonObject
from spec.environment import Tool

TEXT_CHARS_MAX: Final = 4096


class Argument(NamedTuple):
    """One argument of a tool; every argument is text.

    Attributes:
        description: one phrase for the agent.
        required: whether it must be given.
        choices: the allowed values; empty where any text will do.
    """

    description: str
    required: bool = True
    choices: tuple[str, ...] = ()


class _Signature(NamedTuple):
    description: str
    arguments: Mapping[str, Argument]


_PATIENT: Final = Argument("the patient's id")
_DRAFT: Final = Argument("the draft's name, as start_encounter answered it")
_TYPE: Final = Argument("the kind of encounter", required=False, choices=desks.ENCOUNTER_TYPES)
_NOTE: Final = Argument("the text of the note", required=False)
_CONTROL: Final = Argument("the control to click; the toolbar's if not given", False, tuple(desks.CONTROLS))

_SIGNATURES: Final[Mapping[str, _Signature]] = {
    "list_patients": _Signature("List all patients by id and name.", {}),
    "find_patients": _Signature(
        "Look patients up by name, with their dates of birth.",
        {
            "name": Argument("the name or a part of it"),
            "birth_date": Argument("the date of birth as YYYY-MM-DD", required=False),
        },
    ),
    "read_chart": _Signature("Read a patient's chart as the screen shows it.", {"patient_id": _PATIENT}),
    "start_encounter": _Signature(
        "Open the form of a new encounter; nothing is saved yet.",
        {"patient_id": _PATIENT, "type": _TYPE, "note": _NOTE},
    ),
    "edit_encounter": _Signature(
        "Change the form of an encounter that was started.", {"encounter": _DRAFT, "type": _TYPE, "note": _NOTE}
    ),
    "save_encounter": _Signature("Save an encounter and read the banner.", {"encounter": _DRAFT, "control": _CONTROL}),
    "read_screen": _Signature("Read the banner, the open forms and the controls.", {}),
}

TOOL_NAMES: Final = tuple(_SIGNATURES)


def _property(argument: Argument) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "string", "description": argument.description, "maxLength": TEXT_CHARS_MAX}
    if argument.choices:
        schema["enum"] = list(argument.choices)
    return schema


def published_tools() -> tuple[Tool, ...]:
    """The tools with their JSON Schemas."""
    return tuple(
        Tool(
            name,
            signature.description,
            {
                "type": "object",
                "properties": {key: _property(argument) for key, argument in signature.arguments.items()},
                "required": [key for key, argument in signature.arguments.items() if argument.required],
                "additionalProperties": False,
            },
        )
        for name, signature in _SIGNATURES.items()
    )


def call_problems(tool: str, arguments: JsonObject) -> list[str]:
    """Everything that is wrong with a call; empty where it may be carried out."""
    signature = _SIGNATURES.get(tool)
    if signature is None:
        return [f"there is no tool {tool!r}; the tools are {', '.join(TOOL_NAMES)}"]
    problems = [
        f"{tool} needs the argument {name!r}"
        for name, argument in signature.arguments.items()
        if argument.required and name not in arguments
    ]
    for name, value in arguments.items():
        known = signature.arguments.get(name)
        if known is None:
            problems.append(f"{tool} has no argument {name!r}")
        else:
            problems += _value_problems(f"{tool}: {name}", known, value)
    return problems


def _value_problems(where: str, argument: Argument, value: object) -> list[str]:
    if type(value) is not str:
        return [f"{where} must be text, not {type(value).__name__}"]
    if argument.choices and value not in argument.choices:
        return [f"{where} must be one of {', '.join(argument.choices)}"]
    if len(value) > TEXT_CHARS_MAX:
        return [f"{where} has {len(value)} characters, at most {TEXT_CHARS_MAX} are allowed"]
    try:
        value.encode()
    except UnicodeEncodeError:
        return [f"{where} has a lone surrogate"]
    return []
