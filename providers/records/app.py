"""The application as one ASGI object: API, pages, what the oracle reads, and what becomes of a request gone wrong."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from providers.records.api import Api, answer
from providers.records.fhir import FhirApi
from providers.records.leases import Base
from providers.records.pages import Pages
from providers.records.reading import ReadApi, ReadDoor
from providers.records.storage import Access
from spec.clock import Clock


def make_app(base: Base, access: Access, clock: Clock) -> Starlette:
    """The application.

    Args:
        base: the directory that is shared with the worker.
        access: how databases are reached.
        clock: for change dates and waits.
    """
    api, door = Api(base, access, clock), ReadDoor(base)
    return Starlette(
        routes=[
            *api.routes(),
            *Pages(api, base, access).routes(),
            *ReadApi(door, access).routes(),
            *FhirApi(door, access).routes(),
        ],
        exception_handlers={HTTPException: _refused, Exception: _failed},
    )


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "refused"
    return answer({"error": detail}, status)


async def _failed(request: Request, error: Exception) -> Response:
    return answer({"error": f"{type(error).__name__}: {error}"[:300]}, 500)
