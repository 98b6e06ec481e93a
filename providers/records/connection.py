"""A worker's way to its service: one HTTP client for all trials, a session's token on each request.

The client gives up on a save that a fault holds back after ``SAVE_DEADLINE_S``, as an impatient browser would. Where
no fault does, a slow answer is this machine's doing and no part of the trial: it is waited for, and what does not come
even so is a failure of the provider. At most ``REQUESTS_MAX`` requests of a worker are on their way; the others wait
here, and their deadline begins when they are sent.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import anyio
import httpx
import orjson

from spec.errors import ProviderFault

SAVE_DEADLINE_S: Final = 0.6
DEADLINE_S: Final = 10.0
"""Of every other request."""

REQUESTS_MAX: Final = 8
TIMED_OUT: Final = 0
"""The status of a request without an answer."""


class Answer(NamedTuple):
    """What came back.

    Attributes:
        status: of HTTP; ``TIMED_OUT`` where nothing came in time.
        body: the JSON, None where there is none.
    """

    status: int
    body: Any


class Connection:
    """Requests to one service.

    One transport carries one request at a time and keeps its connection: a client with a pool of them would look
    through all of its connections for every request, which costs more than the request.

    Args:
        url: its address.
        transport: in place of the network, where the application stands in this process.
    """

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self.url = url
        self._given, self._tls = transport, ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._idle: list[httpx.AsyncBaseTransport] = []
        self._places = anyio.Semaphore(REQUESTS_MAX)

    async def ask(
        self,
        token: str,
        method: str,
        path: str,
        *,
        json: object = None,
        query: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
        queues: bool = True,
    ) -> Answer:
        """One request of a session.

        Args:
            token: the session's.
            method: of HTTP.
            path: with its leading slash.
            json: the body.
            query: the part of the address behind the question mark.
            deadline_s: seconds after which nothing is waited for.
            queues: whether it waits for a place; one that will hang until its deadline would only block the others.

        Raises:
            ProviderFault: the service is gone, or failed by itself.
        """
        url = f"{self.url}{path}{f'?{urlencode(query)}' if query else ''}" if path.startswith("/") else path
        content = None if json is None else orjson.dumps(json)
        request = httpx.Request(method, url, content=content, headers={"authorization": f"Bearer {token}"})
        async with self._places if queues else nullcontext():
            try:
                with anyio.fail_after(deadline_s):
                    status, body = await self._carry(request)
            except TimeoutError:
                return Answer(TIMED_OUT, None)
            except httpx.HTTPError as error:
                raise ProviderFault(f"the record service does not answer: {type(error).__name__}: {error}") from error
        if status >= 500:
            raise ProviderFault(f"the record service failed: {body[:300].decode(errors='replace')}")
        return Answer(status, orjson.loads(body) if body else None)

    async def close(self) -> None:
        """Close the connections that are idle; those at work are closed with their requests."""
        idle, self._idle = self._idle, []
        for transport in idle:
            await transport.aclose()

    async def _carry(self, request: httpx.Request) -> tuple[int, bytes]:
        transport = self._idle.pop() if self._idle else self._made()
        try:
            response = await transport.handle_async_request(request)
            body = await response.aread()
        except BaseException:  # what is half done on a connection cannot be gone on with
            with anyio.CancelScope(shield=True):
                await transport.aclose()
            raise
        self._idle.append(transport)
        return response.status_code, body

    def _made(self) -> httpx.AsyncBaseTransport:
        if self._given is not None:
            return self._given
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        return httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False, limits=limits)
