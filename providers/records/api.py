"""The application's JSON API.

::

    POST /api/encounter         an encounter (``drafts.Draft``) -> {"status"}: 200, or why not
    GET  /api/records           {"encounters": [...]}, those that are deleted left out
    GET  /api/ui/last-save      {"banner", "patient_id"}: what the screen shows, null where it shows nothing
    GET  /api/patients?name=&birth_date=    {"patients": [...]}
    GET  /api/patients/<id>     {"patient", "encounters"}: a chart
    GET  /api/form              {"type", "types"}: how a new form starts
    POST /api/messages          {"patient_id", "text"}

A request carries its session as ``Authorization: Bearer <token>`` or in the cookie of the pages. Whatever is wrong is
told as ``{"error": text}`` with the status that fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson
from sqlalchemy import Connection, select
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from providers.records.drafts import FIELD_CHARS_MAX, NOTE_CHARS_MAX, TYPES, Draft, parse_draft
from providers.records.faults import FAULTS
from providers.records.leases import Base, Lease
from providers.records.saving import Saves
from providers.records.storage import Access, plain
from providers.records.tables import banner, encounters, patients
from providers.records.writing import queue_message
from spec.clock import Clock

COOKIE: Final = "session"
BODY_BYTES_MAX: Final = 65_536


def answer(content: object, status: int = 200, background: BackgroundTask | None = None) -> Response:
    """A JSON answer that nobody may keep."""
    headers = {"cache-control": "no-store"}
    return Response(orjson.dumps(content), status, headers, "application/json", background)


class Api:
    """The handlers; they keep nothing between two requests.

    Args:
        base: where leases are looked up.
        access: how a database is reached.
        clock: for change dates and waits.
    """

    def __init__(self, base: Base, access: Access, clock: Clock) -> None:
        self._base, self._access, self._clock = base, access, clock
        self._saves = Saves(access, clock)

    def routes(self) -> Sequence[BaseRoute]:
        """Where the handlers hang."""
        return (
            Route("/api/encounter", self.save_encounter, methods=["POST"]),
            Route("/api/records", self.records),
            Route("/api/ui/last-save", self.last_save),
            Route("/api/patients", self.list_patients),
            Route("/api/patients/{patient_id}", self.chart),
            Route("/api/form", self.form),
            Route("/api/messages", self.send_message, methods=["POST"]),
        )

    def session(self, request: Request) -> Lease:
        """The record that a request belongs to.

        Raises:
            HTTPException: 401; there is no such session, or it has ended.
        """
        return self.session_and_token(request)[1]

    def session_and_token(self, request: Request) -> tuple[str, Lease]:
        """As ``session``, with the token that names it."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            token = request.cookies.get(COOKIE, "")
        lease = self._base.lease(token)
        if lease is None:
            raise HTTPException(401, "there is no such session, or it has ended")
        return token, lease

    async def save_encounter(self, request: Request) -> Response:
        """Save a new encounter."""
        token, lease = self.session_and_token(request)
        draft, problems = parse_draft(await _json_body(request))
        if draft is None:
            raise HTTPException(422, "; ".join(problems))
        status, background = await self.save(token, lease, draft)
        return answer({"status": "saved"} if status < 300 else {"error": _refusal(status)}, status, background)

    async def save(self, token: str, lease: Lease, draft: Draft) -> tuple[int, BackgroundTask | None]:
        """Save a draft, for the API and the pages alike; the status, and what is to be done after the answer."""
        fault = FAULTS[lease.fault]
        status = await self._saves.save(lease.url, fault, draft)
        if not fault.late and fault.afterwards is None:
            return status, None

        def ended() -> bool:
            return self._base.lease(token) is None

        return status, BackgroundTask(self._saves.after_answer, lease.url, fault, draft, ended)

    async def records(self, request: Request) -> Response:
        """Every encounter."""
        return answer({"encounters": await self._access.run(self.session(request).url, standing_encounters)})

    async def last_save(self, request: Request) -> Response:
        """The banner."""
        return answer(await self._access.run(self.session(request).url, last_banner))

    async def list_patients(self, request: Request) -> Response:
        """Patients by name and birth date."""
        name, birth_date = request.query_params.get("name", ""), request.query_params.get("birth_date")
        found = await self._access.run(
            self.session(request).url, lambda connection: find_patients(connection, name, birth_date)
        )
        return answer({"patients": found})

    async def chart(self, request: Request) -> Response:
        """One patient with its encounters."""
        patient_id = request.path_params["patient_id"]
        found = await self._access.run(self.session(request).url, lambda connection: read_chart(connection, patient_id))
        if found is None:
            raise HTTPException(404, f"there is no patient {patient_id!r}")
        return answer(found)

    async def form(self, request: Request) -> Response:
        """How a new form starts."""
        return answer({"type": self.session(request).preset_type, "types": TYPES})

    async def send_message(self, request: Request) -> Response:
        """Queue a message to a patient."""
        lease, body = self.session(request), await _json_body(request)
        patient_id, text = (body.get(name) if isinstance(body, dict) else None for name in ("patient_id", "text"))
        if not _is_text(patient_id, FIELD_CHARS_MAX) or not _is_text(text, NOTE_CHARS_MAX):
            raise HTTPException(422, "a message needs patient_id and text")
        now = self._clock.utc_now()
        await self._access.run(lease.url, lambda connection: queue_message(connection, str(patient_id), str(text), now))
        return answer({"status": "queued"})


def standing_encounters(connection: Connection) -> list[dict[str, Any]]:
    """The encounters that are not deleted."""
    found = connection.execute(select(encounters).where(encounters.c.deleted_at.is_(None)).order_by(encounters.c.id))
    return [plain(row) for row in found.mappings()]


def last_banner(connection: Connection) -> dict[str, Any]:
    """What the screen shows of the last save."""
    row = connection.execute(select(banner)).first()
    return {"banner": None, "patient_id": None} if row is None else {"banner": row.text, "patient_id": row.patient_id}


def find_patients(connection: Connection, name: str, birth_date: str | None) -> list[dict[str, Any]]:
    """The patients whose name contains ``name``."""
    rows = connection.execute(select(patients).order_by(patients.c.id)).mappings()
    wanted = name.casefold()
    return [
        shown_patient(row)
        for row in rows
        if wanted in row["name"].casefold() and birth_date in (None, "", row["birth_date"])
    ]


def read_chart(connection: Connection, patient_id: str) -> dict[str, Any] | None:
    """One patient with its encounters, or None."""
    row = connection.execute(select(patients).where(patients.c.id == patient_id)).mappings().first()
    if row is None:
        return None
    own = [one for one in standing_encounters(connection) if one["patient_id"] == patient_id]
    return {"patient": shown_patient(row), "encounters": own}


def shown_patient(row: Any) -> dict[str, Any]:  # noqa: ANN401 - a row of any database
    """A patient as lists show it."""
    return {name: row[name] for name in ("id", "name", "birth_date", "record_number")}


async def _json_body(request: Request) -> object:
    body = await request.body()
    if len(body) > BODY_BYTES_MAX:
        raise HTTPException(413, f"a request has at most {BODY_BYTES_MAX} bytes")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise HTTPException(400, "the request is no JSON") from None


def _is_text(value: object, chars_max: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= chars_max


def _refusal(status: int) -> str:
    return "you have been signed out" if status == 401 else "the record refused the encounter"
