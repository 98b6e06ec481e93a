"""An MCP server is a set of tools, started for a trial or reached by its address; its failures are no agent's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from spec.environment import ToolError
from spec.errors import ProviderFault
from tests.providers.declared.conftest import Declare

WAIT_S = 30.0
SERVER = """
import os, sys
from mcp.server import MCPServer

server = MCPServer("desk")

@server.tool()
def close_ticket(number: int, note: str) -> dict[str, str]:
    '''Close a ticket.'''
    if number == 0:
        raise ValueError("there is no ticket 0")
    if number == 1:
        os._exit(3)
    with open(os.environ.get("DESK", os.devnull), "a") as file:
        file.write(f"{number} {note}\\n")
    return {"message": f"closed {number}", "pid": str(os.getpid()), "folder": os.getcwd()}

@server.tool()
def hidden() -> str:
    '''Not for agents.'''
    return "?"

if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
"""


def declared(written: dict[str, Any], **mcp: Any) -> dict[str, Any]:
    written["tools"] = {"mcp": {"tools": ["close*"], "deadline_s": WAIT_S, **mcp}}
    written["action"]["banner"] = {"pointer": "/message", "saved": "^closed"}
    return written


STDIO = {"argv": ["{python}", "{here}/desk.py"], "env": {"DESK": "{folder}/closed.txt"}}


def test_a_server_is_started_for_a_trial_and_ends_with_it(written: dict[str, Any], declare: Declare) -> None:
    """Its tools act in the trial's folder, an error of its own is an answer, and its process is gone at the end."""
    provider = declare(declared(written, **STDIO), desk_py=SERVER)
    task = provider.tasks()[0]

    async def body() -> int:
        payload = provider.payload(task, 0, 0)
        fixture = await provider.open(task, payload)
        environment = fixture.environment
        assert [tool.name for tool in environment.tools] == ["close_ticket"]
        assert (await environment.attempt_intended_action()).saved
        answer: Any = await environment.call("close_ticket", {"number": 5, "note": "x"})
        assert (answer["status"], answer["body"]["message"]) == (0, "closed 5")
        failed: Any = await environment.call("close_ticket", {"number": 0, "note": "x"})
        assert failed["status"] == 1
        assert "close_ticket" in failed["body"]
        with pytest.raises(ToolError, match="no tool 'hidden'"):
            await environment.call("hidden", {})
        closed = await anyio.Path(answer["body"]["folder"], "closed.txt").read_text(encoding="utf-8")
        assert closed == f"{payload.params['number']} {payload.params['note']}\n5 x\n"
        await fixture.close()
        await provider.close()
        return int(answer["body"]["pid"])

    pid = anyio.run(body)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_dies_is_the_providers_fault(written: dict[str, Any], declare: Declare) -> None:
    """In a call and at the start, and closing works all the same."""
    provider = declare(declared(written, **STDIO), desk_py=SERVER)
    task = provider.tasks()[0]

    async def dies_in_a_call() -> None:
        fixture = await provider.open(task, provider.payload(task, 0, 0))
        with pytest.raises(ProviderFault, match="the MCP server"):
            await fixture.environment.call("close_ticket", {"number": 1, "note": "x"})
        await fixture.close()
        await provider.close()

    anyio.run(dies_in_a_call)
    broken = declare(written, desk_py="raise SystemExit(1)")

    async def dies_at_the_start() -> None:
        with pytest.raises(ProviderFault, match="the MCP server"):
            await broken.open(task, broken.payload(task, 0, 0))
        await broken.close()

    anyio.run(dies_at_the_start)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A server that runs already, by streamable HTTP on loopback."""
    (tmp_path / "served.py").write_text(SERVER, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(tmp_path / "served.py"), str(port)], stderr=subprocess.DEVNULL)
    try:
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def test_a_server_that_runs_is_reached_by_its_address(address: str, written: dict[str, Any], declare: Declare) -> None:
    """By streamable HTTP; two trials at once have a session each."""
    provider = declare(declared(written, url=address))
    task = provider.tasks()[0]

    async def body() -> None:
        one, two = [await provider.open(task, provider.payload(task, trial, 0)) for trial in range(2)]
        for fixture in (one, two):
            answer: Any = await fixture.environment.call("close_ticket", {"number": 7, "note": "x"})
            assert answer["body"]["message"] == "closed 7"
            await fixture.close()
        await provider.close()

    anyio.run(body)
