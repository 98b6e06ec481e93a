"""Channel ``rest`` against a real server: tables, credentials, and what a ``where`` has to be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.rest import RestChannel
from spec.canonical import Json
from spec.clock import SystemClock
from tests.oracle.channels.http_server import App, RecordServer, running_server
from tests.oracle.channels.rest_listing import LINKED, STYLES, Listing, no_fetch, numbered, read, read_table


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with running_server() as running:
        yield running


def test_several_tables_are_one_reading(server: RecordServer) -> None:
    """Each table has a list of its own; paths carry their own query."""
    server.serve({"/api/a": JSONResponse([{"id": 1}]), "/api/b": JSONResponse({"rows": []})})
    where = {
        "url": f"{server.url}/api/",
        "tables": {"a": {"path": "/a?patient=p1"}, "b": {"path": "b", "rows": "/rows"}},
        "headers": {"X-Tenant": "t1"},
    }
    assert read(where) == [{"a": [{"id": 1}], "b": []}]
    assert server.paths_asked() == ["/api/a?patient=p1", "/api/b"]
    assert {asked.headers["x-tenant"] for asked in server.asked} == {"t1"}


def test_one_failing_table_fails_the_record_and_no_other(server: RecordServer) -> None:
    """There is no half record; the reason names the table, and the next path is read all the same."""
    server.serve({"/a": JSONResponse([{"id": 1}])})
    lost, whole = read(
        {"url": server.url, "tables": {"a": {"path": "a"}, "b": {"path": "b"}}},
        {"url": server.url, "tables": {"a": {"path": "a"}}},
    )
    assert lost == ReadFailed("table 'b', page 1: status 404")
    assert whole == {"a": [{"id": 1}]}


@pytest.mark.parametrize(
    ("options", "header", "sent"),
    [
        ({"token_env": "TOKEN"}, "authorization", "Bearer s3cret-token"),
        ({"token_env": "TOKEN", "token_header": "X-Api-Key"}, "x-api-key", "s3cret-token"),
        ({"user": "reader", "password_env": "PASSWORD"}, "authorization", "Basic cmVhZGVyOnBhc3M="),
    ],
)
def test_the_channel_has_credentials_of_its_own(
    server: RecordServer, options: dict[str, Any], header: str, sent: str
) -> None:
    """What the service gets is what the read path names, on every page."""

    def guarded(request: Request) -> App:
        if request.headers.get(header) != sent:
            return JSONResponse({"error": f"who is {request.headers.get(header)}?"}, 401)
        return Listing(numbered(4), cap=2)(request)

    server.serve({"/notes": guarded})
    table = {"rows": "data.items", "next": STYLES["link"]}
    assert read_table(server, table, **options) == {"notes": numbered(4)}
    assert read_table(server, table) == ReadFailed("table 'notes', page 1: status 401: who is None?")


def test_a_refused_token_is_not_shown(server: RecordServer) -> None:
    """A service that repeats the token in its error does not bring it into a report."""
    server.serve({"/notes": lambda asked: JSONResponse({"error": asked.headers["authorization"]}, 403)})
    assert read_table(server, {}, token_env="TOKEN") == ReadFailed("table 'notes', page 1: status 403: Bearer ***")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({}, "the read path: url: Field required"),
        ({"url": "http://h"}, "the read path: tables: Field required"),
        ({"url": "http://h", "tables": {}}, "the read path: tables: Dictionary should have at least 1 item"),
        ({"url": "http://h", "tables": {"t": {}}}, "the read path: tables.t.path: Field required"),
        ({"url": "http://h", "tables": {"t": {"path": "x", "rows": "a..b"}}}, "the read path: tables.t.rows: "),
        ({"url": "http://h", "tables": {"t": {"path": "x", "next": {"style": "magic"}}}}, "the read path: tables.t"),
        (
            {"url": "http://h", "tables": {"t": {"path": "x", "next": {"style": "page", "param": "p", "size": 3}}}},
            "the read path: tables.t.next.page: Value error, size and size_param go together",
        ),
        ({"url": "http://h", "tables": {"t": {"path": "x"}}, "token_env": "NO"}, "the oracle has no credential 'NO'"),
    ],
)  # fmt: skip
def test_a_wrong_where_asks_nobody(where: dict[str, Json], reason: str) -> None:
    """The reason says which key is wrong."""
    (answer,) = read(where)
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith(reason)


def test_a_thousand_rows_are_read(server: RecordServer) -> None:
    """Ten pages of a hundred, by their links."""
    rows = numbered(1000)
    server.serve({"/notes": Listing(rows, cap=100)})
    assert read_table(server, {**LINKED, "total": "meta.total"}) == {"notes": rows}
    assert len(server.asked) == 10


def test_the_channel_says_how_it_works() -> None:
    """Records are read one by one, so that a slow service holds up no other record."""
    channel = RestChannel(ChannelContext(no_fetch, SystemClock(), {}))
    assert (channel.name, channel.batches) == ("rest", False)
    anyio.run(channel.close)
