"""A program that makes the record of a trial."""

from __future__ import annotations

from collections.abc import Mapping

from providers.declared.answers import kept, parse_body
from providers.declared.model import CommandReset
from providers.declared.programs import Programs, prepare_program
from spec.canonical import Json
from spec.errors import ProviderFault


async def run_command(reset: CommandReset, programs: Programs, values: Mapping[str, Json]) -> dict[str, Json]:
    """Run the program; what is kept of its output.

    Raises:
        ProviderFault: it fails, takes too long, or does not print what is to be kept.
    """
    program = prepare_program(reset.argv, reset.env, reset.pass_env, values)
    try:
        ended = await programs.run(program, b"", reset.deadline_s)
    except TimeoutError:
        raise ProviderFault(f"the reset's command did not end within {reset.deadline_s:g} s") from None
    if ended.code != 0:
        raise ProviderFault(f"the reset's command ended with {ended.code}: {ended.complaint}")
    return kept(parse_body(ended.output), reset.keep, "the reset's command")
