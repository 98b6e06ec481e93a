"""The run's end of its control: listens on a socket for as long as the run works, and never ends it by an accident."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from orchestrator.control.place import linked, private_path
from orchestrator.control.protocol import REQUEST_BYTES_MAX, Answer, Request, read_request, refusal, to_line
from orchestrator.files import FILE_MODE, owned
from spec.clock import Clock

CONNECTIONS_MAX: Final = 16
REQUEST_WAIT_S: Final = 5.0
ANSWER_WAIT_S: Final = 5.0
ACCEPT_AGAIN_S: Final = 1.0

_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError)
_NO_REQUEST: Final = (anyio.IncompleteRead, anyio.DelimiterNotFound, TimeoutError, *_GONE)

_UNKNOWN: Final = refusal("this is no request that the run's version knows")


async def serve_control(
    run_dir: Path,
    answer: Callable[[Request], Awaitable[Answer]],
    *,
    clock: Clock,
    notice: Callable[[str], None],
    temp_dir: Path | None = None,
) -> None:
    """Answer requests until cancelled. Where there can be no socket, say so once; the run goes on without.

    Args:
        run_dir: the run directory, whose lock is held.
        answer: does what is asked.
        clock: where waits come from.
        notice: told in one line what a person should know.
        temp_dir: the system's directory for temporary files; None: as Python finds it.
    """
    try:
        with private_path(temp_dir) as path:
            listener = await anyio.create_unix_listener(path, mode=FILE_MODE, backlog=CONNECTIONS_MAX)
            descriptor = listener.extra(SocketAttribute.raw_socket).fileno()  # noqa: S610 - a socket, no query
            async with listener:
                with linked(run_dir, path), owned(descriptor):  # a forked copy must not answer in the run's place
                    async with anyio.create_task_group() as connections:
                        await _Server(answer, clock).accept(listener, connections)
    except OSError as error:
        notice(f"this run cannot be controlled from another terminal: {error.strerror or error}")


class _Server:
    """Talks to whoever connects."""

    def __init__(self, answer: Callable[[Request], Awaitable[Answer]], clock: Clock) -> None:
        self._answer, self._clock, self._connected = answer, clock, 0

    async def accept(self, listener: SocketListener, connections: TaskGroup) -> None:
        """Take connections until cancelled, the surplus ones only to say so."""
        while True:
            try:
                connection = await listener.accept()
            except anyio.BrokenResourceError:  # no descriptor is free, say; that may pass
                await self._clock.sleep(ACCEPT_AGAIN_S)
                continue
            self._connected += 1
            connections.start_soon(self._talk, connection, self._connected > CONNECTIONS_MAX)

    async def _talk(self, connection: SocketStream, surplus: bool) -> None:
        """One request, one answer. What was read is carried out and answered, even if the run ends by it."""
        try:
            async with connection:
                if surplus:
                    await _send(connection, refusal(f"{CONNECTIONS_MAX} terminals are connected", hint="try again"))
                    return
                line = await _request_line(connection)
                if line is None:
                    return
                with anyio.CancelScope(shield=True):
                    request = read_request(line)
                    await _send(connection, _UNKNOWN if request is None else await self._answer(request))
        except _GONE:
            return  # whoever asked has gone away
        finally:
            self._connected -= 1


async def _request_line(connection: SocketStream) -> bytes | None:
    """The first line, or None where none came in time and within its bound."""
    try:
        with anyio.fail_after(REQUEST_WAIT_S):
            return await BufferedByteReceiveStream(connection).receive_until(b"\n", REQUEST_BYTES_MAX)
    except _NO_REQUEST:
        return None


async def _send(connection: SocketStream, answer: Answer) -> None:
    with suppress(TimeoutError), anyio.fail_after(ANSWER_WAIT_S):
        await connection.send(to_line(answer))
