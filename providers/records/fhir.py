"""A FHIR R4 read and search API over the record, for the oracle alone (``providers.records.reading``).

::

    GET /fhir/<record>/metadata
    GET /fhir/<record>/<Type>/<id>
    GET /fhir/<record>/<Type>?<parameters>

Every type takes ``_id``, ``_lastUpdated``, ``_count``, ``_total``; some take more (``_PARAMETERS``). A parameter that
is not known is refused where the client asks for strict handling, else ignored. A search answers a searchset Bundle
with ``total`` and, where there are more, a link ``next``. Whatever is wrong is an OperationOutcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import orjson
from sqlalchemy import Connection, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from providers.records.fhir_resources import MAKERS, Resource, Row
from providers.records.reading import ReadDoor
from providers.records.storage import Access, plain
from providers.records.tables import METADATA

MEDIA_TYPE: Final = "application/fhir+json"
PAGE: Final = 200
PAGE_MAX: Final = 1000
_PAGE_PARAM: Final = "page"

Match = Callable[[Row, str], bool]


def _by_patient(row: Row, wanted: str) -> bool:
    return bool(row["patient_id"] == wanted.removeprefix("Patient/"))


def _by_name(row: Row, wanted: str) -> bool:
    return any(part.startswith(wanted.casefold()) for part in row["name"].casefold().split())


def _equal(column: str, row: Row, wanted: str) -> bool:
    return bool(row[column] == wanted)


_OF_PATIENT: Final[Mapping[str, Match]] = {"patient": _by_patient, "subject": _by_patient}
_PARAMETERS: Final[Mapping[str, Mapping[str, Match]]] = {
    "Patient": {
        "name": _by_name,
        "birthdate": partial(_equal, "birth_date"),
        "identifier": partial(_equal, "record_number"),
    },
    "Encounter": {**_OF_PATIENT, "type": partial(_equal, "type"), "identifier": partial(_equal, "key")},
    "Observation": {**_OF_PATIENT, "code": partial(_equal, "code")},
    "ChargeItem": _OF_PATIENT,
    "Communication": _OF_PATIENT,
}
_COMMON: Final = ("_id", "_lastUpdated", "_count", "_total", "_format", _PAGE_PARAM)
_CODES: Final = {400: "invalid", 401: "login", 404: "not-found", 410: "deleted"}


class FhirApi:
    """The handlers; they keep nothing between two requests.

    Args:
        door: lets the oracle in.
        access: how a database is reached.
    """

    def __init__(self, door: ReadDoor, access: Access) -> None:
        self._door, self._access = door, access

    def routes(self) -> Sequence[BaseRoute]:
        """Where the handlers hang."""
        return (
            Route("/fhir/{record}/metadata", self._told(self.metadata)),
            Route("/fhir/{record}/{kind}/{ident}", self._told(self.read)),
            Route("/fhir/{record}/{kind}", self._told(self.search)),
        )

    async def metadata(self, request: Request) -> Response:
        """What the server can do."""
        self._door.url(request)
        interactions = [{"code": "read"}, {"code": "search-type"}]
        resources = [{"type": kind, "interaction": interactions} for kind in MAKERS]
        return _answer(
            {
                "resourceType": "CapabilityStatement",
                "status": "active",
                "date": "2026-01-05",
                "kind": "instance",
                "fhirVersion": "4.0.1",
                "format": ["json"],
                "rest": [{"mode": "server", "resource": resources}],
            }
        )

    async def read(self, request: Request) -> Response:
        """One resource."""
        kind, ident = _kind(request), request.path_params["ident"]
        for row in await self._rows(request, kind):
            if str(row["id"]) == ident:
                return _answer(MAKERS[kind][1](row))
        raise HTTPException(404, f"there is no {kind}/{ident}")

    async def search(self, request: Request) -> Response:
        """The resources that fit every parameter."""
        kind = _kind(request)
        tests = _tests(request, kind)
        count, page = _number(request, "_count", PAGE, 1, PAGE_MAX), _number(request, _PAGE_PARAM, 1, 1, 10**6)
        found = [row for row in await self._rows(request, kind) if all(test(row) for test in tests)]
        shown = found[(page - 1) * count : page * count]
        links = [{"relation": "self", "url": str(request.url)}]
        if page * count < len(found):
            following = request.url.include_query_params(**{_PAGE_PARAM: page + 1, "_count": count})
            links.append({"relation": "next", "url": str(following)})
        here = str(request.url.replace(query=""))
        entries = [_entry(here, MAKERS[kind][1](row)) for row in shown]
        bundle = {"resourceType": "Bundle", "type": "searchset", "total": len(found), "link": links}
        return _answer({**bundle, "entry": entries} if entries else bundle)

    async def _rows(self, request: Request, kind: str) -> list[dict[str, Any]]:
        url, table = self._door.url(request), METADATA.tables[MAKERS[kind][0]]

        def read(connection: Connection) -> list[dict[str, Any]]:
            return [plain(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]

        return await self._access.run(url, read)

    @staticmethod
    def _told(handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """The handler, with its refusals as OperationOutcomes."""

        async def told(request: Request) -> Response:
            try:
                answer: Response = await handler(request)
            except HTTPException as error:
                code = _CODES.get(error.status_code, "processing")
                issue = {"severity": "error", "code": code, "diagnostics": error.detail}
                return _answer({"resourceType": "OperationOutcome", "issue": [issue]}, error.status_code)
            return answer

        return told


def _answer(resource: Resource, status: int = 200) -> Response:
    return Response(orjson.dumps(resource), status, {"cache-control": "no-store"}, MEDIA_TYPE)


def _entry(here: str, resource: Resource) -> Resource:
    return {"fullUrl": f"{here}/{resource['id']}", "resource": resource, "search": {"mode": "match"}}


def _kind(request: Request) -> str:
    kind: str = request.path_params["kind"]
    if kind not in MAKERS:
        raise HTTPException(404, f"this server has no resources of type {kind!r}")
    return kind


def _tests(request: Request, kind: str) -> list[Callable[[Row], bool]]:
    """What a row has to pass; several values of one parameter, with commas between, are alternatives."""
    tests: list[Callable[[Row], bool]] = []
    strict = "handling=strict" in request.headers.get("prefer", "")
    for name, text in request.query_params.multi_items():
        if name == "_id":
            tests.append(partial(_any_of, lambda row, wanted: str(row["id"]) == wanted, text.split(",")))
        elif name == "_lastUpdated":
            tests.append(_since(text))
        elif name in _PARAMETERS[kind]:
            tests.append(partial(_any_of, _PARAMETERS[kind][name], text.split(",")))
        elif name not in _COMMON and strict:
            raise HTTPException(400, f"{kind} cannot be searched by {name!r}")
    return tests


def _any_of(match: Match, wanted: Sequence[str], row: Row) -> bool:
    return any(match(row, one) for one in wanted)


_PREFIXES: Final[Mapping[str, Callable[[datetime, datetime], bool]]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "gt": lambda one, other: one > other,
    "ge": lambda one, other: one >= other,
    "lt": lambda one, other: one < other,
    "le": lambda one, other: one <= other,
}


def _since(text: str) -> Callable[[Row], bool]:
    """A comparison of the date of change; a resource without one fits no comparison."""
    prefix, moment = (text[:2], text[2:]) if text[:2] in _PREFIXES else ("eq", text)
    try:
        wanted = datetime.fromisoformat(moment)
    except ValueError:
        raise HTTPException(400, f"_lastUpdated: {text!r} is no instant") from None
    if wanted.tzinfo is None:
        raise HTTPException(400, "_lastUpdated needs an instant with its offset")

    def test(row: Row) -> bool:
        changed = row.get("updated_at")
        return changed is not None and _PREFIXES[prefix](datetime.fromisoformat(changed), wanted)

    return test


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not least <= int(text[:9]) <= most:
        raise HTTPException(400, f"{name} must be a number from {least} to {most}")
    return int(text)
