"""A real HTTP server for the tests of channels: uvicorn in a thread, on a free port of the loopback.

A test says what each path answers (a Starlette response, or any ASGI application for what no framework would send), and
sees what was asked.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import anyio
import uvicorn
from starlette.requests import Request
from starlette.responses import Response

START_S_MAX: Final = 20.0

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Responder = Callable[[Request], App]


class RecordServer:
    """What is served, and what was asked.

    Attributes:
        url: where.
        asked: every request, oldest first.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[Request] = []
        self._responders: dict[str, Responder] = {}

    def serve(self, responders: Mapping[str, Responder | App]) -> None:
        """Answer as told from now on, and forget what was asked. A path without a responder is status 404."""
        self._responders = {path: _responder(each) for path, each in responders.items()}
        self.asked = []

    def paths_asked(self) -> list[str]:
        """Path and query of every request."""
        return [f"{each.url.path}?{each.url.query}" if each.url.query else each.url.path for each in self.asked]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        self.asked.append(request)
        responder = self._responders.get(request.url.path)
        app: App = Response(status_code=404) if responder is None else responder(request)
        await app(scope, receive, send)


def _responder(each: Responder | App) -> Responder:
    if isinstance(each, Response | Raw):
        return lambda _: each
    responder: Responder = each  # type: ignore[assignment]  # what is no application of ours takes a request
    return responder


class Raw:
    """An answer in chunks, each after a pause; whatever its headers promise.

    Args:
        chunks: what is sent.
        headers: the headers, as they are.
        pause_s: before each chunk.
        status: the status.
        breaks_off: the connection ends without the last chunk being marked as such.
    """

    def __init__(
        self,
        *chunks: bytes,
        headers: Mapping[str, str] | None = None,
        pause_s: float = 0.0,
        status: int = 200,
        breaks_off: bool = False,
    ) -> None:
        self._chunks, self._pause_s, self._status, self._breaks_off = chunks, pause_s, status, breaks_off
        self._headers = {"content-type": "application/json", **(headers or {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.encode(), text.encode()) for name, text in self._headers.items()]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        for chunk in self._chunks:
            if self._pause_s:
                await anyio.sleep(self._pause_s)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if not self._breaks_off:
            await send({"type": "http.response.body", "body": b""})


@contextmanager
def running_server() -> Iterator[RecordServer]:
    """A server that runs until the block ends."""
    # named as TCP, since asyncio switches Nagle's delays off for no other socket
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        records = RecordServer(f"http://127.0.0.1:{listener.getsockname()[1]}")
        config = uvicorn.Config(
            records, http="h11", loop="asyncio", ws="none", lifespan="off", log_config=None, access_log=False
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield records
        finally:
            server.should_exit = server.force_exit = True
            thread.join(START_S_MAX)
            assert not thread.is_alive()
