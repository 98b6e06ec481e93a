"""The tools of an MCP server, spoken to by the official client: a process of the trial's own, or a server that runs.

The client needs tasks that outlive any single call, so all servers of this process are spoken to from one thread with a
loop of its own. What a server says about its tools is what agents see; a missing or broken answer is the environment's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final, TextIO, TypeVar

import anyio
import httpx2
from anyio import to_thread
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from providers.declared.answers import Answer
from providers.declared.closing import Closing
from providers.declared.model import McpTools
from providers.declared.programs import leashed, prepare_program
from providers.declared.requests import filled_headers, tls
from providers.declared.templates import fill_url
from providers.declared.tools.base import BoundTool
from spec.canonical import Json, JsonObject, canonical_json
from spec.environment import Tool
from spec.errors import ProviderFault
from spec.groups import leaves
from spec.libraries import silence
from spec.text import describe

silence("mcp")

PAGES_MAX: Final = 100
_WRONG_CALL: Final = (-32602, -32601)
"""The server's codes for a call that is wrong: an answer, and nobody's fault but the caller's."""

T = TypeVar("T")


class McpThread:
    """The thread in which this process speaks to its servers.

    Args:
        portal: into its loop.
        stop: ends it.
    """

    def __init__(self, portal: BlockingPortal, stop: Callable[[], None]) -> None:
        self.portal, self._stop = portal, stop

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run something on its loop; a cancellation reaches it."""
        return await asyncio.wrap_future(self.portal.start_task_soon(work))

    async def close(self) -> None:
        """End it, behind the last server."""
        await to_thread.run_sync(self._stop)


async def start_thread() -> McpThread:
    """Start the thread."""
    context = start_blocking_portal("asyncio")
    portal = await to_thread.run_sync(context.__enter__)

    def stop() -> None:
        context.__exit__(None, None, None)

    return McpThread(portal, stop)


async def mcp_tools(
    declared: McpTools,
    thread: McpThread,
    folder: Path,
    bytes_max: int,
    values: Mapping[str, Json],
    closing: Closing,
) -> list[BoundTool]:
    """Reach the server and list its tools.

    Args:
        declared: which server.
        thread: where it is spoken to.
        folder: the trial's own, in which a server that is started works.
        bytes_max: the largest answer.
        values: what the places stand for.
        closing: takes what has to be given back.

    Raises:
        ProviderFault: it cannot be reached, or a glob takes none of its tools.
    """
    transport = partial(_transport, declared, folder, values)
    opened = _Opened(thread, transport, declared.deadline_s)
    await opened.start()
    closing.add("the MCP server", opened.close)
    listed = await opened.ask(_list_tools, "listing its tools")
    bound = []
    for tool in listed:
        if any(fnmatchcase(tool.name, glob) for glob in declared.tools):
            bound.append(BoundTool(tool, partial(_call, opened, tool.name, bytes_max)))
    for glob in declared.tools:
        if not any(fnmatchcase(tool.name, glob) for tool in listed):
            raise ProviderFault(f"the MCP server has no tool {glob!r}: {', '.join(tool.name for tool in listed)}")
    return bound


class _Opened:
    """A connection; the portal holds it in one task from its start to its end."""

    def __init__(
        self, thread: McpThread, transport: Callable[[], AbstractAsyncContextManager[Any]], deadline_s: float
    ) -> None:
        self._thread, self._deadline_s = thread, deadline_s
        self._context = thread.portal.wrap_async_context_manager(_connected(transport, deadline_s))
        self._client: Client | None = None

    async def start(self) -> None:
        try:
            self._client = await to_thread.run_sync(self._context.__enter__)
        except Exception as error:  # noqa: BLE001 - whatever the client library raises, the server cannot be reached
            raise _fault(error, "cannot be reached") from None

    async def ask(self, question: Callable[[Client], Awaitable[T]], what: str) -> T:
        assert self._client is not None
        try:
            with anyio.fail_after(self._deadline_s):
                return await self._thread.run(partial(question, self._client))
        except TimeoutError:
            raise ProviderFault(f"the MCP server: {what}: no answer within {self._deadline_s:g} s") from None
        except MCPError as error:
            if error.error.code in _WRONG_CALL:
                raise
            raise _fault(error, what) from None
        except Exception as error:  # noqa: BLE001 - whatever the client library raises is no agent's fault
            raise _fault(error, what) from None

    async def close(self) -> None:
        await to_thread.run_sync(self._context.__exit__, None, None, None)


@asynccontextmanager
async def _connected(
    transport: Callable[[], AbstractAsyncContextManager[Any]], deadline_s: float
) -> AsyncIterator[Client]:
    with anyio.CancelScope() as scope:
        scope.deadline = anyio.current_time() + deadline_s
        async with transport() as streams, Client(_Streams(streams)) as client:
            scope.deadline = float("inf")
            yield client
    if scope.cancelled_caught:
        raise ProviderFault(f"the MCP server did not answer within {deadline_s:g} s")


class _Streams:
    """Streams that are open already, in the form in which the client takes a transport."""

    def __init__(self, streams: Any) -> None:  # noqa: ANN401 - the client library's own
        self._streams = streams

    async def __aenter__(self) -> Any:  # noqa: ANN401 - the client library's own
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        return


@asynccontextmanager
async def _transport(declared: McpTools, folder: Path, values: Mapping[str, Json]) -> AsyncIterator[Any]:
    if declared.url is not None:
        headers = filled_headers(declared.headers, declared.token_env, values)
        timeout = httpx2.Timeout(declared.deadline_s)
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False, verify=tls()) as http,
            streamable_http_client(fill_url(declared.url, values), http_client=http) as streams,
        ):
            yield streams
        return
    assert declared.argv is not None
    program = prepare_program(declared.argv, declared.env, declared.pass_env, values)
    command, *arguments = leashed(program.argv)
    server = StdioServerParameters(command=command, args=arguments, env=dict(program.env), cwd=folder)
    with _nowhere() as complaints:
        async with stdio_client(server, errlog=complaints) as streams:
            yield streams


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


async def _list_tools(client: Client) -> list[Tool]:
    found: list[Tool] = []
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        page = await client.list_tools(cursor=cursor)
        found += [Tool(tool.name, tool.description or tool.name, dict(tool.input_schema)) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise ProviderFault(f"its list of tools has more than {PAGES_MAX} pages")


async def _call(opened: _Opened, name: str, bytes_max: int, arguments: JsonObject) -> Answer:
    async def ask(client: Client) -> Any:  # noqa: ANN401 - the client library's own
        return await client.call_tool(name, dict(arguments))

    try:
        result = await opened.ask(ask, f"tool {name}")
    except MCPError as error:
        return Answer(1, error.error.message, ok=False)
    body: Json = result.structured_content
    if body is None:
        body = "\n".join(part.text for part in result.content if part.type == "text")
    if len(canonical_json(body)) > bytes_max:
        raise ProviderFault(f"tool {name} answered with more than {bytes_max} bytes")
    return Answer(int(bool(result.is_error)), body, ok=not result.is_error)


def _fault(error: Exception, what: str) -> ProviderFault:
    if isinstance(error, ExceptionGroup):
        error = next((leaf for leaf in leaves(error) if isinstance(leaf, Exception)), error)
    return error if isinstance(error, ProviderFault) else ProviderFault(describe(error, f"the MCP server {what}"))
