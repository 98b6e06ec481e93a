"""What the tests of lists share: a service that pages in every way, and one reading of it by channel ``rest``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.rest import RestChannel
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables
from tests.oracle.channels.http_server import App, RecordServer

CREDENTIALS = {"TOKEN": "s3cret-token", "PASSWORD": "pass"}
Row = dict[str, Any]

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
LINKED = {"rows": "data.items", "next": STYLES["link"]}


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
