"""Typed tools for agents that choose for themselves: what is published of them, and the check of a call.

Every argument is text. The check uses the signatures and never the published schemas, which an arm in this process
could change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from spec.canonical import Json, JsonObject
from spec.environment import Tool

TEXT_CHARS_MAX: Final = 4096


class Argument(NamedTuple):
    """One argument of a tool.

    Attributes:
        description: one phrase for the agent.
        required: whether it must be given.
        choices: the allowed values; empty where any text will do.
    """

    description: str
    required: bool = True
    choices: tuple[str, ...] = ()


class Signature(NamedTuple):
    """A tool.

    Attributes:
        description: one sentence for the agent.
        arguments: by name.
    """

    description: str
    arguments: Mapping[str, Argument]


def published(signatures: Mapping[str, Signature]) -> tuple[Tool, ...]:
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
        for name, signature in signatures.items()
    )


def problems_of(signatures: Mapping[str, Signature], tool: str, arguments: JsonObject) -> list[str]:
    """Everything that is wrong with a call; empty where it may be carried out."""
    signature = signatures.get(tool)
    if signature is None:
        return [f"there is no tool {tool!r}; the tools are {', '.join(signatures)}"]
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


def _property(argument: Argument) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "string", "description": argument.description, "maxLength": TEXT_CHARS_MAX}
    if argument.choices:
        schema["enum"] = list(argument.choices)
    return schema


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
