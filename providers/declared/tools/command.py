"""A program as a tool: the arguments of a call are JSON on its standard input, its output is the answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from providers.declared.answers import Answer, late, parse_body
from providers.declared.model import CommandTool
from providers.declared.programs import Program, Programs, prepare_program
from providers.declared.tools.base import BoundTool, published
from spec.canonical import Json, JsonObject, canonical_json
from spec.errors import ProviderFault


def command_tool(declared: CommandTool, programs: Programs, values: Mapping[str, Json]) -> BoundTool:
    """The tool of one trial.

    Raises:
        ProviderFault: the program cannot be run here.
    """
    program = prepare_program(declared.argv, declared.env, declared.pass_env, values)
    return BoundTool(published(declared), partial(_call, declared, program, programs))


async def _call(declared: CommandTool, program: Program, programs: Programs, arguments: JsonObject) -> Answer:
    try:
        ended = await programs.run(program, canonical_json(arguments), declared.deadline_s)
    except TimeoutError:
        if declared.on_timeout == "answer":
            return late(declared.deadline_s)
        raise ProviderFault(f"tool {declared.name} did not end within {declared.deadline_s:g} s") from None
    if ended.code < 0:
        raise ProviderFault(f"tool {declared.name} was ended by signal {-ended.code}: {ended.complaint}")
    return Answer(ended.code, parse_body(ended.output), ok=ended.code == 0)
