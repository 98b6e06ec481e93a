"""What only the oracle may read over the service: every table as JSON, page by page.

::

    GET /read/<record>/<table>?after=<id>&limit=<n>     {"rows": [...], "total": N, "next": URL or null}

A request carries the token of ``read-token``. A record is named by a text that no arm is told, and it can be read until
its fixture is closed, sealed or not.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Table, func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from providers.records.api import answer
from providers.records.leases import Base
from providers.records.shape import RECORD_TABLES
from providers.records.storage import Access, plain
from providers.records.tables import METADATA

PAGE_ROWS: Final = 500
PAGE_ROWS_MAX: Final = 1000


class ReadDoor:
    """Lets the oracle in, and nobody else.

    Args:
        base: where records and the oracle's token are looked up.
    """

    def __init__(self, base: Base) -> None:
        self._base = base
        self._token = base.read_token()

    def url(self, request: Request) -> str:
        """The database of the record that a request names.

        Raises:
            HTTPException: 401 without the oracle's token, 404 where there is no such record.
        """
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(token.encode(), self._token.encode()):
            raise HTTPException(401, "this is read with a token of its own")
        url = self._base.record_url(request.path_params["record"])
        if url is None:
            raise HTTPException(404, "there is no such record")
        return url


class ReadApi:
    """The handler; it keeps nothing between two requests.

    Args:
        door: lets the oracle in.
        access: how a database is reached.
    """

    def __init__(self, door: ReadDoor, access: Access) -> None:
        self._door, self._access = door, access

    def routes(self) -> Sequence[BaseRoute]:
        """Where the handler hangs."""
        return (Route("/read/{record}/{table}", self.page),)

    async def page(self, request: Request) -> Response:
        """One page of a table, in the order of its ids."""
        url, name = self._door.url(request), request.path_params["table"]
        if name not in RECORD_TABLES:
            raise HTTPException(404, f"there is no table {name!r}")
        limit, table = _limit(request), METADATA.tables[name]
        after = _after(request, table)
        rows, total = await self._access.run(url, lambda connection: _read(connection, table, after, limit))
        following = None
        if len(rows) > limit:
            rows = rows[:limit]
            following = str(request.url.include_query_params(after=rows[-1]["id"], limit=limit))
        return answer({"rows": rows, "total": total, "next": following})


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(PAGE_ROWS))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= PAGE_ROWS_MAX:
        raise HTTPException(400, f"limit must be a number from 1 to {PAGE_ROWS_MAX}")
    return int(text)


def _after(request: Request, table: Table) -> str | int | None:
    text = request.query_params.get("after")
    if text is None or table.c.id.type.python_type is str:
        return text
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise HTTPException(400, "after must be an id")
    return int(text)


def _read(
    connection: Connection, table: Table, after: str | int | None, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """One row more than the page has, so that it is known whether another page follows; and all rows, counted."""
    wanted = select(table).order_by(table.c.id).limit(limit + 1)
    if after is not None:
        wanted = wanted.where(table.c.id > after)
    rows = [plain(row) for row in connection.execute(wanted).mappings()]
    return rows, int(connection.execute(select(func.count()).select_from(table)).scalar_one())
