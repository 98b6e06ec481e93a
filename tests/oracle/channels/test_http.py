"""HTTP for the oracle, against a real server: an answer is whole and comes from the service, or it is none."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import anyio
import httpx
import pytest
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.http import (
    READING_BYTES_MAX,
    Bounds,
    HttpClient,
    HttpReading,
    read_in_time,
)
from oracle.channels.http_address import HttpWhere, address_of
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import Tables
from tests.oracle.channels.http_server import App, Raw, RecordServer, running_server

SECRET = "s3cret-token"
ROWS: Json = [{"id": 1}, {"id": 2}]
Read = Callable[[HttpReading], Awaitable[Tables]]


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with running_server() as running:
        yield running


async def no_fetch(worker: str, fixtures: Sequence[int]) -> bytes:
    raise AssertionError("no worker is asked")


def new_context() -> ChannelContext:
    return ChannelContext(no_fetch, SystemClock(), {"TOKEN": SECRET})


def explain(body: Json) -> str:
    return str(body["why"]) if isinstance(body, dict) and "why" in body else ""


def read_by(url: str, read: Read, *, timeout_s: float = 20.0, bounds: Bounds | None = None) -> Tables | ReadFailed:
    """One reading of a service."""

    async def main() -> Tables | ReadFailed:
        context = new_context()
        client = HttpClient.shared(context)
        address = address_of(HttpWhere(url=url, token_env="TOKEN", timeout_s=timeout_s), context.credentials)
        reading = HttpReading(client, address, accept="application/json", explain=explain, bounds=bounds or Bounds())
        try:
            return await read_in_time(lambda: read(reading), address)
        finally:
            await client.close()

    return anyio.run(main)


async def get_all(reading: HttpReading) -> Tables:
    body: Any = (await reading.get(reading.url("/rows"))).body
    return {"rows": body}


def read_rows(server: RecordServer, app: App, **options: Any) -> Tables | ReadFailed:
    server.serve({"/rows": app})
    return read_by(server.url, get_all, **options)


def test_a_whole_answer_is_read(server: RecordServer) -> None:
    """Status 200 with JSON is an answer."""
    assert read_rows(server, JSONResponse(ROWS)) == {"rows": ROWS}


def test_a_request_asks_for_the_service_itself(server: RecordServer) -> None:
    """Only GET, nothing that allows a stored answer, no condition, no cookie, and the token."""
    read_rows(server, JSONResponse(ROWS))
    (asked,) = server.asked
    assert asked.method == "GET"
    assert asked.headers["authorization"] == f"Bearer {SECRET}"
    assert (asked.headers["cache-control"], asked.headers["pragma"]) == ("no-cache, no-store", "no-cache")
    assert not {"if-none-match", "if-modified-since", "range", "cookie"} & set(asked.headers)


def test_no_cookie_is_kept(server: RecordServer) -> None:
    """A cookie that the service sets is not sent back, so one reading does not depend on another one."""
    server.serve({"/rows": JSONResponse(ROWS, headers={"set-cookie": "session=1; Path=/"})})

    async def twice(reading: HttpReading) -> Tables:
        await get_all(reading)
        return await get_all(reading)

    assert read_by(server.url, twice) == {"rows": ROWS}
    assert ["cookie" in each.headers for each in server.asked] == [False, False]


def test_the_environment_has_no_say(server: RecordServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment is not used."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert read_rows(server, JSONResponse(ROWS)) == {"rows": ROWS}


def test_compressed_answers_are_read(server: RecordServer) -> None:
    """Gzip is asked for and understood."""
    packed = Response(
        gzip.compress(b'[{"id": 1}, {"id": 2}]'), media_type="application/json", headers={"content-encoding": "gzip"}
    )
    assert read_rows(server, packed) == {"rows": ROWS}
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"


PACKED = gzip.compress(b"[" + b" " * 100_000 + b"]")


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        (RedirectResponse("/login?next=ticket"), "status 307, a redirect to {url}/login"),
        (Response(status_code=304), "status 304, a redirect"),
        (HTMLResponse("<form>log in</form>"), "a page of HTML where JSON is due, such as a login"),
        (Response("[]", media_type="text/plain"), "the answer is of type 'text/plain', not JSON"),
        (Response(b"[]"), "the answer is of type '', not JSON"),
        (JSONResponse(ROWS, 206), "status 206, only a part of the answer"),
        (JSONResponse(ROWS, headers={"content-range": "rows 0-1/9"}), "only a part of the answer"),
        (JSONResponse(ROWS, 203), "status 203"),
        (Response(status_code=204), "status 204"),
        (JSONResponse({"why": "not you"}, 401), "status 401: not you"),
        (JSONResponse({"why": f"bad token {SECRET}"}, 403), "status 403: bad token ***"),
        (JSONResponse({"other": 1}, 404), "status 404"),
        (Raw(b"{", status=500), "status 500"),
        (Raw(b'"', b"x" * 70_000, b'"', status=500), "status 500"),
        (HTMLResponse("<h1>down</h1>", 503), "status 503"),
        (JSONResponse(ROWS, headers={"age": "12"}), "the answer comes from a cache, Age 12"),
        (Raw(b'[{"id": 1}'), "the answer is no JSON: "),
        (Raw(b""), "the answer is no JSON: "),
        (Raw(b'[{"id": NaN}]'), "the answer is no JSON: "),
        (Raw(b'[{"id": 1, "id": 2}]'), "the answer is no JSON: an object has a member twice"),
        (Raw(b'[{"id": 1}]', headers={"content-length": "900"}), "the answer broke off: "),
        (Raw(b"[]", breaks_off=True), "the answer broke off: "),
        (Raw(PACKED[:-20], headers={"content-encoding": "gzip"}), "the answer is no JSON: "),
        (Raw(b"[]", headers={"content-encoding": "gzip"}), "the answer cannot be decompressed"),
    ],
    ids=[
        "redirect", "not-modified", "html", "other-type", "no-type", "partial", "range", "transformed", "no-content",
        "unauthorized", "echoed-token", "not-found", "broken-error", "endless-error", "html-error", "cached",
        "half-json", "empty", "nan", "member-twice", "short-of-its-length", "chunks-break-off", "half-gzip",
        "false-gzip",
    ],
)  # fmt: skip
def test_whatever_is_not_whole_is_no_reading(server: RecordServer, app: App, reason: str) -> None:
    """Each has a reason of its own, and none shows the token."""
    answer = read_rows(server, app)
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith(reason.format(url=server.url))
    assert SECRET not in answer.reason


def test_age_nought_comes_from_no_cache(server: RecordServer) -> None:
    """A service that says Age: 0 is believed."""
    assert read_rows(server, JSONResponse(ROWS, headers={"age": "0"})) == {"rows": ROWS}


def test_a_redirect_is_not_followed(server: RecordServer) -> None:
    """Nothing is asked of where it leads, so no token goes there."""
    read_rows(server, RedirectResponse("/elsewhere"))
    assert server.paths_asked() == ["/rows"]


def test_a_slow_drip_ends_with_its_time(server: RecordServer) -> None:
    """An answer whose bytes keep coming is still bound by the time of the whole reading."""
    drip = Raw(*[b" "] * 1000, pause_s=0.02)
    assert read_rows(server, drip, timeout_s=0.15) == ReadFailed("no whole reading within 0.15 s")


def test_an_answer_is_read_no_further_than_its_bound(server: RecordServer) -> None:
    """Bytes count decompressed, so a small answer that unpacks to a large one is refused too."""
    bomb = Raw(gzip.compress(b"[" + b" " * 2**20 + b"]"), headers={"content-encoding": "gzip"})
    bounds = Bounds(answer_bytes_max=1000)
    for app in (bomb, Raw(*[b" " * 600] * 3)):
        answer = read_rows(server, app, bounds=bounds)
        assert answer == ReadFailed(f"more than 1000 bytes in an answer, or {READING_BYTES_MAX} in a reading")


def test_a_reading_is_bound_as_a_whole(server: RecordServer) -> None:
    """Many small answers are refused like a large one, by their bytes and by their number."""
    server.serve({"/rows": Raw(b"[" + b" " * 98 + b"]")})

    async def for_ever(reading: HttpReading) -> Tables:
        while True:
            await get_all(reading)

    assert isinstance(read_by(server.url, for_ever, bounds=Bounds(reading_bytes_max=250)), ReadFailed)
    assert len(server.asked) == 3
    answer = read_by(server.url, for_ever, bounds=Bounds(reading_pages_max=5))
    assert answer == ReadFailed("more than 5 pages")


def test_a_large_answer_comes_in_many_chunks(server: RecordServer) -> None:
    """Five megabytes are read whole."""
    rows = [{"id": number, "note": "x" * 1000} for number in range(5000)]
    assert read_rows(server, JSONResponse(rows)) == {"rows": rows}


def test_a_service_that_is_not_there_is_named() -> None:
    """Nobody listens: the reason has the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    answer = read_by(f"http://127.0.0.1:{port}", get_all)
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith(f"no connection to 127.0.0.1:{port}: ")


def test_what_speaks_no_http_is_no_service() -> None:
    """Something that answers with other bytes, or hangs up, is no reading."""
    for said in (b"SSH-2.0-x\r\n", b""):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()

            def answer_once(listener: socket.socket = listener, said: bytes = said) -> None:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(said)

            thread = threading.Thread(target=answer_once)
            thread.start()
            answer = read_by(f"http://127.0.0.1:{listener.getsockname()[1]}", get_all)
            thread.join()
        assert isinstance(answer, ReadFailed)
        assert answer.reason.startswith("the answer broke off: ")


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("?page=2", "{url}/rows?page=2"),
        ("/other", "{url}/other"),
        ("{url}/rows?page=3#part", "{url}/rows?page=3"),
        ("http://elsewhere.example/rows", None),
        ("https://127.0.0.1/rows", None),
        ("//127.0.0.1:1/rows", None),
        ("javascript:x", None),
        ("http://[", None),
    ],
)
def test_a_link_stays_with_its_service(server: RecordServer, link: str, url: str | None) -> None:
    """Scheme, host and port have to be the same; all else would be sent the token, or read another record."""
    server.serve({"/rows": JSONResponse(ROWS)})

    async def follow(reading: HttpReading) -> Tables:
        answer = await reading.get(reading.url("rows"))
        return {str(reading.follow(answer, link.format(url=server.url))): []}

    answer = read_by(server.url, follow)
    if url is None:
        assert isinstance(answer, ReadFailed)
        assert answer.reason.startswith("the next page is")
    else:
        assert answer == {url.format(url=server.url): []}


def test_a_link_brings_no_user(server: RecordServer) -> None:
    """A URL with a user in it would replace the credentials."""
    server.serve({"/rows": JSONResponse(ROWS)})

    async def follow(reading: HttpReading) -> Tables:
        answer = await reading.get(reading.url("rows"))
        reading.follow(answer, server.url.replace("//", "//eve:x@") + "/rows")
        return {}

    assert isinstance(read_by(server.url, follow), ReadFailed)


def test_an_oracle_has_one_client() -> None:
    """Channels of one oracle share it, another oracle has its own, and it closes with its last user."""

    async def main() -> None:
        one, other = new_context(), new_context()
        first, second, apart = HttpClient.shared(one), HttpClient.shared(one), HttpClient.shared(other)
        assert first is second
        assert first is not apart
        address = address_of(HttpWhere(url="http://127.0.0.1:1"), {})
        inner = first.ask(httpx.URL(address.base), address, "application/json")
        await first.close()
        with pytest.raises(httpx.ConnectError):
            async with inner:
                pass
        await second.close()
        await apart.close()

    anyio.run(main)
