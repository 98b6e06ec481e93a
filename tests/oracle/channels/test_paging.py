"""Every way of paging gives the whole list, and half a list is no reading; against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse, PlainTextResponse

from oracle.base import ReadFailed
from oracle.rows import ROWS_IN_MEMORY_MAX, StoredRows
from tests.oracle.channels.http_server import RecordServer, running_server
from tests.oracle.channels.rest_listing import LINKED, STYLES, Listing, Row, numbered, read_table

TOTALS: list[dict[str, Any]] = [{}, {"total": "meta.total"}, {"total_header": "X-Total"}]

contents = st.dictionaries(
    st.sampled_from(["note", "amount", "when", "tags"]),
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(st.characters(codec="utf-8"), max_size=8),
)


@pytest.fixture(scope="module")
def server() -> Iterator[RecordServer]:
    with running_server() as running:
        yield running


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


def test_a_large_table_goes_to_disk(server: RecordServer) -> None:
    """Its rows are the same, and in order."""
    rows = numbered(ROWS_IN_MEMORY_MAX + 3)
    server.serve({"/notes": Listing(rows, cap=4000)})
    answer = read_table(server, LINKED)
    assert not isinstance(answer, ReadFailed)
    assert isinstance(answer["notes"], StoredRows)
    assert list(answer["notes"]) == rows
