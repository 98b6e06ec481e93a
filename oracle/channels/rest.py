"""Channel ``rest``: a record behind a JSON service, read by GET.

``where``, besides what ``oracle.channels.http_address`` says of the service and of credentials::

    tables   table -> {
      path          "records?patient=p1", below the url
      rows          where the list stands in an answer: "data.items", "/data/items"; default "": the answer is it
      next          how the next page is found; default {"style": "none"}: there is one page
                      {"style": "link"}                                  a header Link with rel="next"
                      {"style": "url", "path": "links.next"}             a URL in the answer
                      {"style": "cursor", "path": "meta.cursor", "param": "after"}
                      {"style": "page", "param": "page", "start": 1, "size_param": "per_page", "size": 100}
                      {"style": "offset", "param": "offset", "size_param": "limit", "size": 100}
      total         where an answer says how many rows the whole list has: "meta.total"; or
      total_header  the header that says it: "X-Total-Count"
      etag          true: every page carries an ETag that stands for the whole list
    }

A next page has to be at the same service. ``page`` and ``offset`` end with the total or, without one, with an empty
page; a service that answers an error there needs a total. Without a total or an ETag, a list that moves while it is
read page by page shows only in ids that come twice: declare one of the two where the service has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import NoReading, failed
from oracle.channels.http import BOUNDS, Bounds, HttpClient, HttpReading, read_in_time
from oracle.channels.http_address import HttpWhere, address_of, parse_where
from oracle.channels.paging import ListPlan, read_list
from spec.canonical import Json
from spec.reading import ChannelName, ReadPath, Record, Tables

_ACCEPT = "application/json"


class RestTable(ListPlan):
    """One table: a list below the service's URL."""

    path: Annotated[str, Field(max_length=8000)]


class RestWhere(HttpWhere):
    """The whole ``where``."""

    tables: Annotated[dict[str, RestTable], Field(min_length=1, max_length=1000)]


class RestChannel:
    """Reads records behind JSON services (``oracle.base.Channel``).

    Args:
        context: has the credentials; names the client.
        bounds: how much one reading may take.
    """

    name: str = ChannelName.REST.value
    batches: bool = False

    def __init__(self, context: ChannelContext, bounds: Bounds = BOUNDS) -> None:
        self._credentials, self._bounds = context.credentials, bounds
        self._client = HttpClient.shared(context)

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each, one after the other; answers in order."""
        return [await self._read(path) for path in paths]

    async def close(self) -> None:
        """Give the connections back."""
        await self._client.close()

    async def _read(self, path: ReadPath) -> Tables | ReadFailed:
        try:
            where = parse_where(RestWhere, path.where)
            address = address_of(where, self._credentials)
        except NoReading as error:
            return failed(error)
        reading = HttpReading(self._client, address, accept=_ACCEPT, explain=_explain, bounds=self._bounds)
        return await read_in_time(lambda: _read_tables(reading, where.tables), address)


async def _read_tables(reading: HttpReading, tables: Mapping[str, RestTable]) -> Tables:
    read: dict[str, Sequence[Record]] = {}
    for name, table in tables.items():
        try:
            read[name] = await read_list(reading, reading.url(table.path), table)
        except NoReading as error:
            raise NoReading(f"table {name!r}, {error}") from None
    return read


def _explain(body: Json) -> str:
    """What services that follow no standard say of an error, where they say it as most do."""
    if isinstance(body, Mapping):
        for name in ("detail", "message", "error", "title"):
            if isinstance(text := body.get(name), str):
                return text
    return ""
