"""The requests of one trial: its own cookies, no redirects followed, nothing from proxies, bounded answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from ssl import SSLContext
from typing import Any, Final

import anyio
import httpx

from providers.declared.answers import Answer, parse_body
from providers.declared.templates import as_text, fill_text
from spec.canonical import Json
from spec.errors import ProviderFault

_HEADER_CHARS_MAX: Final = 8_192


@cache
def tls() -> SSLContext:
    """What is trusted; loaded once a process, since that takes longer than a request."""
    return httpx.create_ssl_context(trust_env=False)


class Requests:
    """Sends requests; made on the loop on which it is used.

    Args:
        answer_bytes_max: the largest body that is read.
    """

    def __init__(self, answer_bytes_max: int) -> None:
        self._answer_bytes_max = answer_bytes_max
        self._client: httpx.AsyncClient | None = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        deadline_s: float,
        headers: Mapping[str, str] | None = None,
        query: Sequence[tuple[str, str]] = (),
        body: Json = None,
        with_body: bool = False,
    ) -> Answer:
        """Send one request.

        Raises:
            TimeoutError: there was no whole answer in time.
            ProviderFault: nobody answers there, or too much.
        """
        client = self._client or self._open()
        more: dict[str, Any] = {"json": body} if with_body else {}
        if query:
            more["params"] = list(query)
        try:
            with anyio.fail_after(deadline_s):
                async with client.stream(method, url, headers=dict(headers or {}), **more) as answer:
                    data = await self._read(answer)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, UnicodeError) as error:
            raise ProviderFault(f"{method} {_place(url)}: {type(error).__name__}: {error}") from None
        return Answer(answer.status_code, parse_body(data), ok=answer.is_success)

    async def close(self) -> None:
        """Give the connections back."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _open(self) -> httpx.AsyncClient:
        no_limit = httpx.Timeout(None)  # every request has a deadline of its own
        self._client = httpx.AsyncClient(verify=tls(), trust_env=False, follow_redirects=False, timeout=no_limit)
        return self._client

    async def _read(self, answer: httpx.Response) -> bytes:
        data = bytearray()
        async for chunk in answer.aiter_bytes():
            data += chunk
            if len(data) > self._answer_bytes_max:
                raise ProviderFault(f"an answer has more than {self._answer_bytes_max} bytes")
        return bytes(data)


def filled_headers(headers: Mapping[str, str], token_env: str | None, values: Mapping[str, Json]) -> dict[str, str]:
    """Headers with their places filled in, and the token.

    Raises:
        ProviderFault: a value cannot stand in a header, or the token's variable is not set.
    """
    filled = {name: fill_text(template, values) for name, template in headers.items()}
    for name, text in filled.items():
        if len(text) > _HEADER_CHARS_MAX or any(ord(char) < 32 for char in text):
            raise ProviderFault(f"the value of the header {name} cannot stand in one")
    if token_env is not None:
        if token_env not in os.environ:
            raise ProviderFault(f"the environment variable {token_env} is not set")
        filled["Authorization"] = f"Bearer {os.environ[token_env]}"
    return filled


def query_pairs(values: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Arguments as a query: a list gives one pair an element, null none."""
    pairs = []
    for name, value in values.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                pairs.append((name, as_text(item)))
    return pairs


def _place(url: str) -> str:
    """An address without its query, which can hold what is nobody's business."""
    return url.partition("?")[0][:200]
