"""Runs the programs of a declaration: bounded, without a shell, and gone when their time is over.

A program gets a process group of its own, which is killed whatever happens, so that what it has started ends with it.
It also ends with the process that started it. Its environment is what the declaration says and nothing else.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import anyio
from anyio.abc import ByteReceiveStream, Process

from providers.declared.templates import as_text, fill_text
from spec.canonical import Json
from spec.errors import ProviderFault

STDERR_BYTES_MAX: Final = 65_536
REASON_CHARS_MAX: Final = 400
END_S: Final = 5.0
ENVIRONMENT_BYTES_MAX: Final = 100_000
_PLAIN_PATH: Final = "/usr/local/bin:/usr/bin:/bin"


class Ended(NamedTuple):
    """How a program ended.

    Attributes:
        code: its exit code; negative where a signal ended it.
        output: its standard output.
        complaint: the end of its standard error, on one line.
    """

    code: int
    output: bytes
    complaint: str


class Program(NamedTuple):
    """A program ready to be run: everything is filled in.

    Attributes:
        argv: its name and arguments.
        env: its whole environment.
    """

    argv: Sequence[str]
    env: Mapping[str, str]


def prepare_program(
    argv: Sequence[str], env: Mapping[str, str], pass_env: Sequence[str], values: Mapping[str, Json]
) -> Program:
    """Fill in a command of a declaration.

    Args:
        argv: templates.
        env: templates of its environment.
        pass_env: variables that come from this process's environment.
        values: what the places stand for.

    Raises:
        ProviderFault: a variable is not set, a value cannot be one, or there is no such program.
    """
    environment = {"PATH": os.environ.get("PATH", _PLAIN_PATH), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HOME": as_text(values["folder"]), "TMPDIR": as_text(values["folder"])}
    for name in pass_env:
        if name not in os.environ:
            raise ProviderFault(f"the environment variable {name} is not set")
        environment[name] = os.environ[name]
    for name, template in env.items():
        environment[name] = text = fill_text(template, values)
        if "\0" in text or len(text.encode(errors="replace")) > ENVIRONMENT_BYTES_MAX:
            raise ProviderFault(f"the value of {name} cannot stand in an environment")
    filled = [fill_text(part, values) for part in argv]
    found = shutil.which(filled[0], path=environment["PATH"])
    if found is None:
        raise ProviderFault(f"there is no program {filled[0]!r}")
    return Program([found, *filled[1:]], environment)


class Programs:
    """The programs of one trial.

    Args:
        folder: the trial's own, where they work.
        output_bytes_max: what one of them may print.
    """

    def __init__(self, folder: Path, output_bytes_max: int) -> None:
        self._folder, self._output_bytes_max = folder, output_bytes_max
        self._groups: set[int] = set()
        self._sealed = False

    async def run(self, program: Program, stdin: bytes, deadline_s: float) -> Ended:
        """Run a program to its end.

        Raises:
            TimeoutError: it took longer; it is killed.
            ProviderFault: it could not be started, or printed too much.
        """
        if self._sealed:
            raise ProviderFault("the trial is over")
        try:
            process = await anyio.open_process(
                leashed(program.argv), env=dict(program.env), cwd=self._folder, start_new_session=True
            )
        except OSError as error:
            raise ProviderFault(f"{program.argv[0]} could not be started: {error.strerror}") from error
        self._groups.add(process.pid)
        try:
            with anyio.fail_after(deadline_s):
                return await self._converse(process, program, stdin)
        finally:
            await self._end(process)

    def kill(self) -> None:
        """End whatever runs, at once, and start nothing more."""
        self._sealed = True
        for group in self._groups:
            kill_group(group)

    async def _converse(self, process: Process, program: Program, stdin: bytes) -> Ended:
        assert process.stdout is not None
        assert process.stderr is not None
        printed: dict[str, bytes] = {}

        async def listen(name: str, stream: ByteReceiveStream, bytes_max: int) -> None:
            printed[name] = await _read(stream, bytes_max)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen, "output", process.stdout, self._output_bytes_max)
            tasks.start_soon(listen, "complaint", process.stderr, STDERR_BYTES_MAX)
            tasks.start_soon(_tell, process, stdin)
            await _exit_of(process)
            kill_group(process.pid)  # what it left running would keep its output open
            code = await process.wait()
        if len(printed["output"]) > self._output_bytes_max:
            raise ProviderFault(f"{program.argv[0]} printed more than {self._output_bytes_max} bytes")
        complaint = " ".join(printed["complaint"].decode(errors="replace").split())[-REASON_CHARS_MAX:]
        return Ended(code, printed["output"], complaint)

    async def _end(self, process: Process) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_S):
            kill_group(process.pid)
            await process.wait()
            self._groups.discard(process.pid)
            await process.aclose()


def leashed(argv: Sequence[str]) -> list[str]:
    """A command that ends with the process that starts it, where the system can do that."""
    setpriv = shutil.which("setpriv", path="/usr/bin:/bin")
    return list(argv) if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--", *argv]


def kill_group(group: int) -> None:
    """Kill a process group, if it is still there."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


async def _exit_of(process: Process) -> None:
    """Wait for the program itself; ``wait`` alone would wait for whoever holds its output, too."""
    if not hasattr(os, "pidfd_open"):
        await process.wait()
        return
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)


async def _tell(process: Process, stdin: bytes) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        if stdin:
            await process.stdin.send(stdin)
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()


async def _read(stream: ByteReceiveStream, bytes_max: int) -> bytes:
    """What a stream says, up to one byte more than allowed; the rest is read and dropped, so that nobody blocks."""
    found = bytearray()
    async for chunk in stream:
        found += chunk[: bytes_max + 1 - len(found)]
    return bytes(found)
