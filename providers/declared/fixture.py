"""One trial's fresh record, as the declaration makes it, and the tools in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from providers.declared.back_door import DeclaredBackDoor, back_door_of
from providers.declared.closing import Closing
from providers.declared.environment import DeclaredEnvironment
from providers.declared.model import RecordTable, TaskTable
from providers.declared.programs import Programs
from providers.declared.requests import Requests
from providers.declared.reset.command import run_command
from providers.declared.reset.http import send_reset
from providers.declared.shared import Shared
from providers.declared.templates import fill
from providers.declared.tools.base import BoundTool
from providers.declared.tools.command import command_tool
from providers.declared.tools.http import http_tool
from providers.declared.tools.openapi import openapi_tool
from spec.canonical import Json
from spec.reading import ReadPath

AT_REST: Final = ("file", "fs")
"""Channels whose record does not change once the environment is sealed."""


class DeclaredFixture:
    """A record that was reset for one trial; made by ``open_fixture``."""

    def __init__(
        self,
        environment: DeclaredEnvironment,
        read_path: ReadPath,
        values: Mapping[str, Json],
        programs: Programs,
        closing: Closing,
    ) -> None:
        self._environment, self._read_path, self._values = environment, read_path, values
        self._programs, self._closing = programs, closing

    @property
    def environment(self) -> DeclaredEnvironment:
        """The only part that an arm gets, through a proxy."""
        return self._environment

    @property
    def read_path(self) -> ReadPath:
        """Where the oracle finds the record."""
        return self._read_path

    @property
    def values(self) -> Mapping[str, Json]:
        """What the places of this trial stand for; no arm gets them."""
        return self._values

    @property
    def back_door(self) -> DeclaredBackDoor | None:
        """For an audit of the oracle; None where nobody but its own service can write the record."""
        return back_door_of(self._read_path, self._environment, self._values)

    def snapshot(self) -> bytes:
        """Nothing is in memory here; the record is read by its channel."""
        raise LookupError("a declared record is read by its own channel")

    def seal(self) -> None:
        """Refuse every further call, and end the programs that still work on one."""
        self._environment.seal()
        self._programs.kill()

    async def close(self) -> None:
        """Give back everything that the trial has.

        Raises:
            ProviderFault: with every part that could not be given back.
        """
        self.seal()
        await self._closing.close()


async def open_fixture(shared: Shared, task: TaskTable, values: Mapping[str, Json]) -> DeclaredFixture:
    """Reset the record for a trial, and put its tools together.

    Args:
        shared: what the trials of this process share.
        task: which task.
        values: the trial's parameters and wiring.

    Raises:
        ProviderFault: something declared fails.
        ConfigError: a statement of a script fails; its file and line are named.
    """
    declaration, closing = shared.declaration, Closing()
    try:
        folder = await shared.trial_folder(closing)
        bytes_max = declaration.tools.answer_bytes_max
        programs, requests = Programs(folder, bytes_max), Requests(bytes_max)
        closing.add("connections", requests.close)
        known: dict[str, Json] = {**shared.own_values(folder), **values}
        known |= await shared.database(folder, known, closing)
        if declaration.reset.command is not None:
            known |= await run_command(declaration.reset.command, programs, known)
        for call in declaration.reset.http:
            known |= await send_reset(call, requests, known)
        tools = _bound_tools(shared, requests, programs, known)
        if declaration.tools.mcp is not None:
            from providers.declared.tools.mcp import mcp_tools

            assert shared.mcp is not None
            tools += await mcp_tools(declaration.tools.mcp, shared.mcp, folder, bytes_max, known, closing)
        checked = shared.checked([bound.tool for bound in tools])
        environment = DeclaredEnvironment(tools, checked, task.action or declaration.action, known)
        return DeclaredFixture(environment, read_path(declaration.record, known), known, programs, closing)
    except BaseException:
        await closing.undo()
        raise


def _bound_tools(shared: Shared, requests: Requests, programs: Programs, values: Mapping[str, Json]) -> list[BoundTool]:
    tools = shared.declaration.tools
    bound = [http_tool(tool, requests, values) for tool in tools.http]
    bound += [command_tool(tool, programs, values) for tool in tools.command]
    if tools.openapi is not None:
        bound += [openapi_tool(tools.openapi, operation, requests, values) for operation in shared.operations]
    return bound


def read_path(record: RecordTable, values: Mapping[str, Json]) -> ReadPath:
    """Where the oracle finds the record of a trial."""
    where = fill(record.where, values)
    assert isinstance(where, dict)
    final = record.channel in AT_REST if record.final is None else record.final
    return ReadPath(record.channel, final, where)
