"""The application's pages, made on the server: for a person, or for an agent that drives a browser.

::

    GET  /enter?token=<session>          begins a session: a cookie, and on to the patients
    GET  /?name=&birth_date=             the patients
    GET  /patients/<id>                  a chart
    GET  /patients/<id>/encounters/new   the form of an encounter
    POST /patients/<id>/encounters       saves it, and shows the chart; where it was refused, the form again

Every page shows the banner of the last save. A save goes the same way as one by the API, with the same faults. There is
no script: what a page shows is what the server sent. Whatever comes out of the record is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from providers.records.api import COOKIE, Api, find_patients, last_banner, read_chart
from providers.records.drafts import TYPES, Draft, parse_draft
from providers.records.leases import Base, Lease
from providers.records.storage import Access

_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_FIELDS: Final = ("type", "note", "clinician", "seen_at", "weight_kg")
_REFUSALS: Final[Mapping[int, str]] = {
    401: "You have been signed out.",
    409: "The record refused the encounter.",
}
FORM_FIELDS_MAX: Final = 32


class Pages:
    """The handlers; they keep nothing between two requests.

    Args:
        api: looks sessions up, and saves.
        base: where a session is looked up as it begins.
        access: how a database is reached.
    """

    def __init__(self, api: Api, base: Base, access: Access) -> None:
        self._api, self._base, self._access = api, base, access
        loader = PackageLoader("providers.records")
        self._templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    def routes(self) -> Sequence[BaseRoute]:
        """Where the handlers hang."""
        return (
            Route("/enter", self._shown(self.enter)),
            Route("/", self._shown(self.patients)),
            Route("/patients/{patient_id}", self._shown(self.chart)),
            Route("/patients/{patient_id}/encounters/new", self._shown(self.form)),
            Route("/patients/{patient_id}/encounters", self._shown(self.save), methods=["POST"]),
        )

    async def enter(self, request: Request) -> Response:
        """Begin a session."""
        token = request.query_params.get("token", "")
        if self._base.lease(token) is None:
            raise HTTPException(401, "There is no such session, or it has ended.")
        answer = RedirectResponse("/", 303, _HEADERS)
        answer.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return answer

    async def patients(self, request: Request) -> Response:
        """The patients that fit the search."""
        lease = self._api.session(request)
        name, birth_date = (request.query_params.get(part, "").strip() for part in ("name", "birth_date"))
        found = await self._access.run(lease.url, lambda connection: find_patients(connection, name, birth_date))
        return await self._page(lease, "patients.html", patients=found, name=name, birth_date=birth_date)

    async def chart(self, request: Request) -> Response:
        """A patient's chart."""
        lease = self._api.session(request)
        return await self._page(lease, "chart.html", **await self._chart(lease, request))

    async def form(self, request: Request) -> Response:
        """The form of a new encounter."""
        lease = self._api.session(request)
        return await self._form(lease, request, {"type": lease.preset_type})

    async def save(self, request: Request) -> Response:
        """Save what the form holds."""
        token, lease = self._api.session_and_token(request)
        async with request.form(max_files=0, max_fields=FORM_FIELDS_MAX) as sent:
            values = {name: str(sent[name]).strip() for name in _FIELDS if name in sent}
        given = {name: value for name, value in values.items() if value}
        draft, problems = parse_draft({"patient_id": request.path_params["patient_id"], **given})
        await self._chart(lease, request)
        if draft is None:
            return await self._form(lease, request, values, "; ".join(problems), 422)
        status, background = await self._api.save(token, lease, _with_line_breaks(draft))
        if status >= 300:
            refusal = _REFUSALS.get(status, "The encounter was not saved.")
            answer = await self._form(lease, request, values, refusal, status)
        else:
            answer = RedirectResponse(f"/patients/{draft.patient_id}", 303, _HEADERS)
        answer.background = background
        return answer

    async def _form(
        self, lease: Lease, request: Request, values: Mapping[str, str], error: str = "", status: int = 200
    ) -> Response:
        filled = {**dict.fromkeys(_FIELDS, ""), **values}
        chart = await self._chart(lease, request)
        return await self._page(
            lease, "encounter.html", status, error, patient=chart["patient"], types=TYPES, values=filled
        )

    async def _chart(self, lease: Lease, request: Request) -> dict[str, Any]:
        patient_id = request.path_params["patient_id"]
        found = await self._access.run(lease.url, lambda connection: read_chart(connection, patient_id))
        if found is None:
            raise HTTPException(404, "There is no such patient.")
        return found

    async def _page(
        self,
        lease: Lease,
        template: str,
        status: int = 200,
        error: str = "",
        **shown: Any,  # noqa: ANN401 - whatever the template shows
    ) -> Response:
        banner = (await self._access.run(lease.url, last_banner))["banner"]
        text = self._templates.get_template(template).render(banner=banner, error=error, **shown)
        return HTMLResponse(text, status, _HEADERS)

    def _shown(self, handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """The handler, with its refusals as pages."""

        async def shown(request: Request) -> Response:
            try:
                answer: Response = await handler(request)
            except HTTPException as error:
                text = self._templates.get_template("page.html").render(banner="", error=error.detail)
                return HTMLResponse(text, error.status_code, _HEADERS)
            return answer

        return shown


def _with_line_breaks(draft: Draft) -> Draft:
    """The note as it was typed: a browser sends every line break as two characters."""
    return draft._replace(note=draft.note.replace("\r\n", "\n"))
