"""What every tool of a declaration is: published, checked against its schema, called, answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from providers.declared.answers import Answer
from providers.declared.model import DeclaredTool
from spec.canonical import JsonObject, canonical_json
from spec.environment import Tool, ToolError
from spec.text import clean

_PROBLEMS_MAX: Final = 10

Call = Callable[[JsonObject], Awaitable[Answer]]
"""Carries out one call whose arguments fit the schema.

Raises:
    ProviderFault: the environment failed, which is nobody's verdict.
"""


class BoundTool(NamedTuple):
    """A tool of one trial.

    Attributes:
        tool: as the agent sees it.
        call: what it does.
    """

    tool: Tool
    call: Call


def published(declared: DeclaredTool) -> Tool:
    """A listed tool as an agent sees it."""
    required = list(declared.parameters) if declared.required is None else declared.required
    return Tool(declared.name, declared.description, object_schema(declared.parameters, required))


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> JsonObject:
    """The JSON Schema of a call's arguments."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


class Checked:
    """Checks arguments against the published schemas; a schema is compiled once.

    It keeps copies of its own: an arm in this process could change the published ones.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        from jsonschema import Draft202012Validator

        self._validators = {tool.name: Draft202012Validator(_copied(tool.parameters)) for tool in tools}

    def check(self, name: str, arguments: JsonObject) -> None:
        """Refuse a call that is wrong.

        Raises:
            ToolError: with every problem.
        """
        validator = self._validators.get(name)
        if validator is None:
            raise ToolError(f"there is no tool {clean(repr(name))}; the tools are {', '.join(self._validators)}")
        try:
            canonical_json(arguments)
        except TypeError as error:  # half a surrogate pair, a number of any length, an object of Python's
            raise ToolError(f"{name}: the arguments are not JSON: {clean(str(error))}") from None
        found = islice(validator.iter_errors(arguments), _PROBLEMS_MAX)
        problems = [f"{name}: {error.json_path[2:] or 'arguments'}: {clean(error.message)}" for error in found]
        if problems:
            raise ToolError("; ".join(problems))


def _copied(schema: JsonObject) -> Any:  # noqa: ANN401 - JSON, whatever it holds
    import orjson

    return orjson.loads(orjson.dumps(schema))
