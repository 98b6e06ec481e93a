"""HTTP as an oracle may use it: GET alone, straight from the service, and an answer that is whole or no answer.

All channels of an oracle share one client: its TLS context is made once, its connections are bounded, and it takes
nothing from the environment (no proxy, no netrc). It keeps no cookies, so no reading depends on an earlier one, and it
asks every cache on the way to stand aside. Only status 200 with JSON that came from the service itself and arrived in
full is an answer. A redirect, a page of HTML (a login, most often), a part of a range, an answer out of a cache, a body
that broke off or is malformed, or more bytes or pages than are allowed: all are ``NoReading``. Nothing is repeated
here; whoever reads again is ``oracle.reading``.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

import anyio
import httpx

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.exact_json import parse_json
from oracle.channels.failing import NoReading, failed
from oracle.channels.http_address import Address
from spec.canonical import Json
from spec.reading import Tables

CONNECTIONS_MAX: Final = 64
CONNECT_S_MAX: Final = 5.0
IDLE_S_MAX: Final = 2.0
"""Connections idle for longer are given up: a server that closes one just as it is used would cost a reading."""

ANSWER_BYTES_MAX: Final = 64 * 2**20
READING_BYTES_MAX: Final = 4 * 2**30
READING_PAGES_MAX: Final = 10_000
EXPLANATION_BYTES_MAX: Final = 64 * 2**10
"""Of an answer that is an error, no more is read to find its reason."""

_OK: Final = 200
_PARTIAL: Final = 206
_REDIRECTS: Final = range(300, 400)
_SHOWN_CHARS_MAX: Final = 80
_HEADERS: Final = {
    "Accept-Encoding": "gzip, deflate",
    "Cache-Control": "no-cache, no-store",
    "Pragma": "no-cache",
    "User-Agent": "trial-orchestrator-oracle",
}

Explain = Callable[[Json], str]
"""What the body of an error says, in a clause; "" where it says nothing."""


class Answer(NamedTuple):
    """One answer that is whole.

    Attributes:
        url: what was asked for.
        headers: the answer's headers.
        next_link: where its header ``Link`` leads with ``rel="next"``.
        body: its JSON.
    """

    url: httpx.URL
    headers: httpx.Headers
    next_link: str | None
    body: Json


class Bounds(NamedTuple):
    """How much one reading may take.

    Attributes:
        answer_bytes_max: of one answer, decompressed.
        reading_bytes_max: of all answers together.
        reading_pages_max: how many answers.
    """

    answer_bytes_max: int = ANSWER_BYTES_MAX
    reading_bytes_max: int = READING_BYTES_MAX
    reading_pages_max: int = READING_PAGES_MAX


BOUNDS: Final = Bounds()


class HttpClient:
    """The one client of an oracle. Opened with the first request, closed by its last user.

    Args:
        context: whose client it is; kept, so that its ``id`` is no other's.
    """

    def __init__(self, context: ChannelContext) -> None:
        self._context, self._users = context, 0
        self._client: httpx.AsyncClient | None = None

    @staticmethod
    def shared(context: ChannelContext) -> HttpClient:
        """The client of the oracle that a context belongs to; each user calls ``close`` once."""
        client = _CLIENTS.get(id(context))
        if client is None:
            client = _CLIENTS[id(context)] = HttpClient(context)
        client._users += 1
        return client

    def ask(self, url: httpx.URL, address: Address, accept: str) -> AbstractAsyncContextManager[httpx.Response]:
        """Ask for a URL; the answer's body is still to be read."""
        if self._client is None:
            self._client = _new_client()
        return self._client.stream("GET", url, headers={**address.headers, "Accept": accept})

    async def close(self) -> None:
        """One user is done; the last one closes the connections."""
        self._users -= 1
        if self._users <= 0 and self._client is not None:
            client, self._client = self._client, None
            await client.aclose()


_CLIENTS: Final[WeakValueDictionary[int, HttpClient]] = WeakValueDictionary()


class HttpReading:
    """One reading of one record: what it asks for stays with one service and within its bounds.

    Args:
        client: asks.
        address: the service.
        accept: the media types that are asked for.
        explain: finds the reason in the body of an error.
        bounds: how much may be read.
    """

    def __init__(
        self, client: HttpClient, address: Address, *, accept: str, explain: Explain, bounds: Bounds = BOUNDS
    ) -> None:
        self._client, self._address, self._accept = client, address, accept
        self._explain, self._bounds = explain, bounds
        self._origin = _origin(httpx.URL(address.base))
        self._bytes = self._pages = 0

    def url(self, path: str) -> httpx.URL:
        """The URL of a path below the service's own.

        Raises:
            NoReading: there is no such URL.
        """
        return _parse_url(f"{self._address.base}/{path.lstrip('/')}", "the read path")

    def follow(self, answer: Answer, link: str) -> httpx.URL:
        """The URL that an answer refers to.

        Raises:
            NoReading: it is no URL, or leads to another service.
        """
        url = answer.url.join(_parse_url(link, "the next page"))
        if _origin(url) != self._origin or url.userinfo:
            raise NoReading(f"the next page is at another service, {_shown(url)}")
        return url.copy_with(fragment=None)

    async def get(self, url: httpx.URL) -> Answer:
        """Get one answer.

        Raises:
            NoReading: there is none, or it is not whole.
        """
        self._pages += 1
        if self._pages > self._bounds.reading_pages_max:
            raise NoReading(f"more than {self._bounds.reading_pages_max} pages")
        try:
            async with self._client.ask(url, self._address, self._accept) as response:
                if response.status_code != _OK:
                    raise NoReading(await self._refusal(response))
                _check_headers(response.headers)
                body = await self._body(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoReading(_reason(error, url)) from None
        try:
            return Answer(url, response.headers, _next_link(response), parse_json(body))
        except ValueError as error:
            raise NoReading(f"the answer is no JSON: {error}") from None

    async def _body(self, response: httpx.Response) -> bytes:
        chunks: list[bytes] = []
        left = min(self._bounds.answer_bytes_max, self._bounds.reading_bytes_max - self._bytes)
        async for chunk in response.aiter_bytes():
            left -= len(chunk)
            if left < 0:
                raise NoReading(
                    f"more than {self._bounds.answer_bytes_max} bytes in an answer, "
                    f"or {self._bounds.reading_bytes_max} in a reading"
                )
            self._bytes += len(chunk)
            chunks.append(chunk)
        return b"".join(chunks)

    async def _refusal(self, response: httpx.Response) -> str:
        status = response.status_code
        if status in _REDIRECTS:
            target = response.headers.get("Location")
            return f"status {status}, a redirect" + (f" to {_shown(response.url.join(target))}" if target else "")
        if status == _PARTIAL:
            return f"status {status}, only a part of the answer"
        return f"status {status}" + (f": {clause}" if (clause := await self._explanation(response)) else "")

    async def _explanation(self, response: httpx.Response) -> str:
        if not _is_json(response.headers):
            return ""
        data = b""
        async for chunk in response.aiter_bytes():
            data += chunk
            if len(data) > EXPLANATION_BYTES_MAX:
                return ""
        try:
            return self._explain(parse_json(data))
        except ValueError:
            return ""


async def read_in_time(read: Callable[[], Awaitable[Tables]], address: Address) -> Tables | ReadFailed:
    """Read a record within the time of its address; whatever goes wrong is an answer without a credential."""
    try:
        with anyio.move_on_after(address.timeout_s):
            return await read()
    except Exception as error:  # noqa: BLE001 - a record that cannot be read is a value, whatever the reason
        return failed(error, "reading", address.secrets)
    return ReadFailed(f"no whole reading within {address.timeout_s:g} s")


@functools.cache
def _tls() -> ssl.SSLContext:
    """The system's certificates; making this takes some 20 ms, so it is made once a process."""
    return ssl.create_default_context()


def _new_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=_tls(),
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        headers=_HEADERS,
        limits=httpx.Limits(
            max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX, keepalive_expiry=IDLE_S_MAX
        ),
        timeout=httpx.Timeout(None, connect=CONNECT_S_MAX),  # all else is bounded by the time of the whole reading
    )


def _check_headers(headers: httpx.Headers) -> None:
    if not _is_json(headers):
        kind = _media_type(headers)
        if kind.endswith("html"):
            raise NoReading("a page of HTML where JSON is due, such as a login")
        raise NoReading(f"the answer is of type {kind[:_SHOWN_CHARS_MAX]!r}, not JSON")
    if headers.get("Age", "0").strip().lstrip("0"):
        raise NoReading(f"the answer comes from a cache, Age {headers['Age'][:_SHOWN_CHARS_MAX]}")
    if "Content-Range" in headers:
        raise NoReading("only a part of the answer, by its Content-Range")


def _is_json(headers: httpx.Headers) -> bool:
    kind = _media_type(headers)
    return kind.endswith(("/json", "+json"))


def _media_type(headers: httpx.Headers) -> str:
    kind: str = headers.get("Content-Type", "")
    return kind.partition(";")[0].strip().lower()


def _next_link(response: httpx.Response) -> str | None:
    for link in response.links.values():
        if "next" in link.get("rel", "").lower().split():
            return link.get("url")
    return None


def _reason(error: Exception, url: httpx.URL) -> str:
    """Why there is no answer. The text of other errors may repeat a header, so it is not shown."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection to {url.netloc.decode()} within {CONNECT_S_MAX:g} s"
    if isinstance(error, httpx.ConnectError):
        return f"no connection to {url.netloc.decode()}: {error}"
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError | httpx.CloseError | httpx.WriteError):
        return f"the answer broke off: {str(error) or type(error).__name__}"
    if isinstance(error, httpx.DecodingError):
        return "the answer cannot be decompressed"
    return f"no answer: {type(error).__name__}"


def _parse_url(text: str, what: str) -> httpx.URL:
    try:
        return httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        raise NoReading(f"{what} is no URL") from None


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx leaves out a port that is the scheme's own


def _shown(url: httpx.URL) -> str:
    """A URL without its query, which may hold a ticket or a token."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"[:_SHOWN_CHARS_MAX]
