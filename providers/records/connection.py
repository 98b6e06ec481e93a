"""A worker's way to its service: one HTTP client for all trials, a session's token on each request.

The client gives up on a save that a fault holds back after ``SAVE_DEADLINE_S``, as an impatient browser would. Where
no fault does, a slow answer is this machine's doing and no part of the trial: it is waited for, and what does not come
even so is a failure of the provider. At most ``REQUESTS_MAX`` requests of a worker are on their way; the others wait
here, and their deadline begins when they are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

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

    Args:
        url: its address.
        transport: in place of the network, where the application stands in this process.
    """

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=REQUESTS_MAX)
        self.url = url
        self._client = httpx.AsyncClient(
            base_url=url,
            trust_env=False,
            timeout=None,  # noqa: S113 - the deadline stands around each request
            limits=limits,
            transport=transport,
        )
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
        headers = {"authorization": f"Bearer {token}"}
        content = None if json is None else orjson.dumps(json)
        async with self._places if queues else nullcontext():
            try:
                with anyio.fail_after(deadline_s):
                    response = await self._client.request(method, path, content=content, params=query, headers=headers)
            except TimeoutError:
                return Answer(TIMED_OUT, None)
            except httpx.HTTPError as error:
                raise ProviderFault(f"the record service does not answer: {type(error).__name__}: {error}") from error
        if response.status_code >= 500:
            raise ProviderFault(f"the record service failed: {response.text[:300]}")
        return Answer(response.status_code, orjson.loads(response.content) if response.content else None)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
