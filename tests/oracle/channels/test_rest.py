"""Channel ``rest`` against a real server: every way of paging gives the whole list, and half a list is no reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.rest import RestChannel
from oracle.rows import ROWS_IN_MEMORY_MAX, StoredRows
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables
from tests.oracle.channels.http_server import App, RecordServer, running_server

CREDENTIALS = {"TOKEN": "s3cret-token", "PASSWORD": "pass"}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with running_server() as running:
        yield running


async def no_fetch(worker: str, fixtures: Sequence[int]) -> bytes:
    raise AssertionError("no worker is asked")


def read(*wheres: dict[str, Any]) -> list[Tables | ReadFailed]:
    async def main() -> list[Tables | ReadFailed]:
        channel = RestChannel(ChannelContext(no_fetch, SystemClock(), CREDENTIALS))
        try:
            return list(await channel.read([ReadPath("rest", False, where) for where in wheres]))
        finally:
            await channel.close()

    return anyio.run(main)


def read_table(server: RecordServer, table: dict[str, Any], **options: Any) -> Tables | ReadFailed:
    (answer,) = read({"url": server.url, "tables": {"notes": {"path": "notes", **table}}, **options})
    return answer


def numbered(count: int) -> list[Row]:
    return [{"id": number, "note": f"n{number}"} for number in range(count)]


class Listing:
    """A service that gives a list in pages, in any of the ways that services have.

    Args:
        rows: the list.
        cap: the most rows of a page, whatever is asked for.
        etags: the ETag of each page, in the order in which pages are asked for.
        totals: the total that each page says.
    """

    def __init__(self, rows: Sequence[Row], cap: int, etags: Sequence[str] = (), totals: Sequence[int] = ()) -> None:
        self._rows, self._cap, self._etags, self._totals = rows, cap, list(etags), list(totals)
        self._page = 0

    def __call__(self, request: Request) -> App:
        query = request.query_params
        size = min(self._cap, int(query.get("size", self._cap)))
        if "page" in query:
            start = (int(query["page"]) - 1) * size
        elif "cursor" in query:
            start = int(query["cursor"].removeprefix("c"))
        else:
            start = int(query.get("offset", 0))
        rows, after = list(self._rows[start : start + size]), start + size
        more = after < len(self._rows)
        url = request.url.include_query_params(offset=after)
        total = self._totals[min(self._page, len(self._totals) - 1)] if self._totals else len(self._rows)
        headers = {"X-Total": str(total)}
        if more:
            headers["Link"] = f'<{request.url}>; rel="self", <{url}>; rel="next"'
        if self._etags:
            headers["ETag"] = self._etags[min(self._page, len(self._etags) - 1)]
        self._page += 1
        meta = {"total": total, "next": str(url) if more else None, "cursor": f"c{after}" if more else ""}
        return JSONResponse({"data": {"items": rows}, "meta": meta}, headers=headers)


SIZED = {"size_param": "size", "size": 3}
STYLES: dict[str, dict[str, Any]] = {
    "link": {"style": "link"},
    "url": {"style": "url", "path": "meta.next"},
    "cursor": {"style": "cursor", "path": "/meta/cursor", "param": "cursor"},
    "page": {"style": "page", "param": "page"},
    "page-sized": {"style": "page", "param": "page", **SIZED},
    "offset": {"style": "offset", "param": "offset"},
    "offset-sized": {"style": "offset", "param": "offset", **SIZED},
}
TOTALS: list[dict[str, Any]] = [{}, {"total": "meta.total"}, {"total_header": "X-Total"}]

contents = st.dictionaries(
    st.sampled_from(["note", "amount", "when", "tags"]),
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(st.characters(codec="utf-8"), max_size=8),
)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(contents, max_size=12),
    cap=st.integers(1, 13),
    style=st.sampled_from(sorted(STYLES)),
    total=st.sampled_from(TOTALS),
)
def test_any_paging_of_any_rows_gives_the_same_table(
    server: RecordServer, rows: list[Row], cap: int, style: str, total: dict[str, Any]
) -> None:
    """However a list is cut into pages and found again, its rows come whole and in order."""
    rows = [{"id": number, **row} for number, row in enumerate(rows)]
    server.serve({"/notes": Listing(rows, cap)})
    assert read_table(server, {"rows": "data.items", "next": STYLES[style], **total}) == {"notes": rows}


@pytest.mark.parametrize("style", ["page-sized", "offset-sized"])
def test_a_short_page_is_not_the_last_one(server: RecordServer, style: str) -> None:
    """A service that caps the size that was asked for is read to its end all the same."""
    rows = numbered(7)
    server.serve({"/notes": Listing(rows, cap=2)})
    assert read_table(server, {"rows": "data.items", "next": STYLES[style]}) == {"notes": rows}


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


LINKED = {"rows": "data.items", "next": STYLES["link"]}


@pytest.mark.parametrize(
    ("table", "responder", "reason"),
    [
        ({}, JSONResponse({"rows": []}), "page 1: no list of rows at the answer, but a dict"),
        ({"rows": "data"}, JSONResponse({}), "page 1: no list of rows at /data, but nothing"),
        ({"rows": "data.rows"}, JSONResponse({"data": []}), "page 1: 'data.rows': a list stands before 'rows'"),
        ({}, JSONResponse([{"id": 1}, 2]), "page 1: a row is a int, not an object"),
        ({}, JSONResponse(None), "page 1: no list of rows at the answer, but nothing"),
        ({}, PlainTextResponse("[]"), "page 1: the answer is of type 'text/plain', not JSON"),
        ({"rows": "data.items"}, Listing(numbered(4), 2), "page 1: the answer names a next page, but the read path"),
        ({"next": STYLES["url"]}, JSONResponse([]), "page 1: 'meta.next': a list stands before 'meta'"),
        ({"rows": "r", "next": STYLES["url"]}, JSONResponse({"r": [], "meta": {"next": 7}}), "page 1: the next page"),
        ({"rows": "r", "next": STYLES["cursor"]}, JSONResponse({"r": [], "meta": {"cursor": {}}}), "page 1: the curs"),
        ({"total": "meta.total"}, JSONResponse([]), "page 1: 'meta.total': a list stands before"),
        ({"total_header": "X-Total"}, JSONResponse([]), "page 1: the answer does not say how many rows"),
        ({**LINKED, "total": "meta.total"}, Listing(numbered(4), 2, totals=[5]), "4 rows came, but the service says 5"),
        ({**LINKED, "total": "meta.total"}, Listing(numbered(4), 2, totals=[3]), "4 rows came, but the service says 3"),
        ({**LINKED, "total_header": "X-Total"}, Listing(numbered(4), 2, totals=[4, 5]), "page 2: the total changed"),
        ({**LINKED, "etag": True}, Listing(numbered(4), 2), "page 1: the page has no ETag"),
        ({**LINKED, "etag": True}, Listing(numbered(4), 2, etags=["a", "b"]), "page 2: the list's ETag changed"),
        (
            {"rows": "data.items", "next": STYLES["offset"], "total": "meta.total"},
            Listing(numbered(4), 2, totals=[5]),
            "4 rows came, but the service says 5",
        ),
    ],
    ids=[
        "no-list", "nothing", "path-through-list", "no-objects", "null", "text", "undeclared-next", "path-of-next",
        "next-no-url", "no-cursor", "path-of-total", "no-total", "missing-rows", "too-many-rows", "total-changed",
        "no-etag", "etag-changed", "empty-page-before-total",
    ],
)  # fmt: skip
def test_half_a_list_is_no_reading(server: RecordServer, table: dict[str, Any], responder: Any, reason: str) -> None:
    """Each sign that rows are missing, moved or hidden has a reason that names table and page."""
    server.serve({"/notes": responder})
    answer = read_table(server, table)
    assert isinstance(answer, ReadFailed)
    assert answer.reason.startswith(f"table 'notes', {reason}")


def test_an_etag_that_stays_is_a_whole_list(server: RecordServer) -> None:
    """Pages of one state are read."""
    server.serve({"/notes": Listing(numbered(4), 2, etags=["a"])})
    assert read_table(server, {**LINKED, "etag": True}) == {"notes": numbered(4)}


@pytest.mark.parametrize("style", ["page-sized", "offset-sized", "cursor"])
def test_a_service_that_does_not_page_is_seen(server: RecordServer, style: str) -> None:
    """One that sends its first page for ever is left after the second one."""
    server.serve({"/notes": JSONResponse({"rows": numbered(3), "meta": {"cursor": "c1"}})})
    answer = read_table(server, {"rows": "rows", "next": STYLES[style]})
    assert answer == ReadFailed("table 'notes', page 2: the same rows as on an earlier page")
    assert len(server.asked) == 2


def test_pages_in_a_circle_are_seen(server: RecordServer) -> None:
    """A next page that was read already ends the reading, with or without rows."""
    empty = {"rows": [], "meta": {"next": "/notes?page=1"}}
    server.serve({"/notes": JSONResponse(empty)})
    answer = read_table(server, {"rows": "rows", "next": STYLES["url"]})
    assert answer == ReadFailed("table 'notes', page 2: its next page is one that was read already")


def test_a_next_page_elsewhere_is_not_asked_for(server: RecordServer) -> None:
    """Another host would get the token, and is another record."""
    link = {"link": '<http://elsewhere.example/notes?page=2>; rel="next"'}
    server.serve({"/notes": JSONResponse([{"id": 1}], headers=link)})
    answer = read_table(server, {"next": STYLES["link"]}, token_env="TOKEN")
    reason = "the next page is at another service, http://elsewhere.example/notes"
    assert answer == ReadFailed(f"table 'notes', page 1: {reason}")


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


def test_a_large_table_goes_to_disk(server: RecordServer) -> None:
    """Its rows are the same, and in order."""
    rows = numbered(ROWS_IN_MEMORY_MAX + 3)
    server.serve({"/notes": Listing(rows, cap=4000)})
    answer = read_table(server, LINKED)
    assert not isinstance(answer, ReadFailed)
    assert isinstance(answer["notes"], StoredRows)
    assert list(answer["notes"]) == rows


def test_the_channel_says_how_it_works() -> None:
    """Records are read one by one, so that a slow service holds up no other record."""
    channel = RestChannel(ChannelContext(no_fetch, SystemClock(), {}))
    assert (channel.name, channel.batches) == ("rest", False)
    anyio.run(channel.close)
