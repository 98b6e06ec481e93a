"""The application's client in a trial: drafts, saves and what it paints.

It works as a page in a browser does. A chart is loaded once, and afterwards shows what the client believes to have
saved: an agent learns from it no more than from the banner.
"""

from __future__ import annotations

from typing import Any, Final

import anyio

from providers.records.connection import DEADLINE_S, SAVE_DEADLINE_S, TIMED_OUT, Answer, Connection
from providers.records.drafts import Draft
from providers.records.faults import Fault
from spec.canonical import Json
from spec.environment import Screen, ToolError
from spec.errors import ProviderFault

DRAFTS_MAX: Final = 64
SAVES_MAX: Final = 64
_LOOK_S: Final = 0.1
_LOOKS_MAX: Final = 100


class Client:
    """One arm's session at the desk.

    Args:
        connection: to the service.
        token: the session's.
        fault: what the trial's saves meet; it says how often a click is sent and which failures are meant.
        intended: what the scripted action saves.
    """

    def __init__(self, connection: Connection, token: str, fault: Fault, intended: Draft) -> None:
        self._connection, self._token, self._fault, self._intended = connection, token, fault, intended
        self._drafts: list[Draft] = []
        self._charts: dict[str, dict[str, Any]] = {}
        self._painted: list[Draft] = []
        self._saves = 0
        self._screen: Screen | None = None

    async def scripted_save(self) -> Screen:
        """Save the intended encounter without looking at anything."""
        return await self._save(self._intended)

    async def read_back(self) -> list[dict[str, Any]]:
        """The encounters as the application's own API tells them."""
        rows: list[dict[str, Any]] = (await self._get("/api/records"))["encounters"]
        return rows

    async def list_patients(self) -> Json:
        """Every patient."""
        found: Json = (await self._get("/api/patients"))["patients"]
        return found

    async def find_patients(self, name: str, birth_date: str | None = None) -> Json:
        """The patients whose name contains ``name``."""
        query = {"name": name} | ({"birth_date": birth_date} if birth_date else {})
        found: Json = (await self._get("/api/patients", query))["patients"]
        return found

    async def read_chart(self, patient_id: str) -> Json:
        """A patient and the encounters that the client shows for it."""
        loaded = await self._chart(patient_id)
        shown: list[Json] = [
            {"type": one["type"], "note": one["note"], "seen_at": one["seen_at"]} for one in loaded["encounters"]
        ]
        shown += [
            {"type": one.type, "note": one.note, "seen_at": one.seen_at}
            for one in self._painted
            if one.patient_id == patient_id
        ]
        return {"patient": loaded["patient"], "encounters": shown}

    async def start_encounter(self, patient_id: str, type: str | None = None, **fields: str) -> Json:
        """Open a new draft."""
        await self._chart(patient_id)
        if len(self._drafts) == DRAFTS_MAX:
            raise ToolError(f"at most {DRAFTS_MAX} drafts can be open")
        preset = type or (await self._get("/api/form"))["type"]
        self._drafts.append(Draft(patient_id, preset, **fields))
        return self._draft_json(len(self._drafts) - 1)

    async def edit_encounter(self, encounter: str, **changes: str) -> Json:
        """Change fields of a draft."""
        place = self._place(encounter)
        self._drafts[place] = self._drafts[place]._replace(**changes)
        return self._draft_json(place)

    async def save_encounter(self, encounter: str) -> Json:
        """Save a draft; the answer is the banner, and the error that the client noticed."""
        return (await self._save(self._drafts[self._place(encounter)]))._asdict()

    async def queue_message(self, patient_id: str, text: str) -> Json:
        """Put a message into the outbox."""
        answer = await self._connection.ask(
            self._token, "POST", "/api/messages", json={"patient_id": patient_id, "text": text}
        )
        return self._accepted(answer)

    async def page_address(self) -> Json:
        """Where a browser enters."""
        return f"{self._connection.url}/enter?token={self._token}"

    async def read_screen(self) -> Json:
        """The banner and the drafts as the screen shows them."""
        return {
            "banner": None if self._screen is None else self._screen.banner,
            "drafts": [self._draft_json(place) for place in range(len(self._drafts))],
        }

    async def _save(self, draft: Draft) -> Screen:
        if self._saves == SAVES_MAX:
            raise ToolError(f"at most {SAVES_MAX} saves are taken in one session")
        self._saves += 1
        body = {name: value for name, value in draft._asdict().items() if value is not None}
        error = _noticed(await self._click(body))
        shown = await self._banner(wait=bool(self._fault.hang_s))
        self._screen = Screen(saved=shown is not None, banner=shown or "", error=error)
        if self._screen.saved:
            self._painted.append(draft)
        return self._screen

    async def _banner(self, *, wait: bool) -> str | None:
        """What the screen shows; after a save that hangs, as soon as it shows anything.

        Raises:
            ProviderFault: it goes on to show nothing, so the save that hangs never came through.
        """
        for _ in range(_LOOKS_MAX):
            shown: str | None = (await self._get("/api/ui/last-save"))["banner"]
            if shown is not None or not wait:
                return shown
            await anyio.sleep(_LOOK_S)
        raise ProviderFault("the save that was to hang after its commit has not come to its commit")

    async def _click(self, body: dict[str, Any]) -> Answer:
        """Send one click as often as it is delivered; the last answer is what the client sees."""
        answers: list[Answer] = []

        async def deliver() -> None:
            answer = await self._connection.ask(
                self._token,
                "POST",
                "/api/encounter",
                json=body,
                deadline_s=SAVE_DEADLINE_S if self._fault.hang_s else DEADLINE_S,
                queues=not self._fault.hang_s,
            )
            answers.append(answer)

        if self._fault.deliveries == 1:
            await deliver()
        else:
            async with anyio.create_task_group() as tasks:
                for _ in range(self._fault.deliveries):
                    tasks.start_soon(deliver)
                    await anyio.sleep(self._fault.gap_s)
        for answer in answers:
            if answer.status == TIMED_OUT and not self._fault.hang_s:
                raise ProviderFault("the record service did not answer in time, though no fault holds it back")
            if answer.status == 401 and self._fault.status != 401:
                raise ProviderFault("the record service does not know the session of a running trial")
        return answers[-1]

    async def _chart(self, patient_id: str) -> dict[str, Any]:
        if patient_id not in self._charts:
            answer = (
                await self._connection.ask(self._token, "GET", f"/api/patients/{patient_id}")
                if _is_plain(patient_id)
                else None
            )
            if answer is None or answer.status == 404:
                raise ToolError(f"there is no patient {patient_id!r}")
            self._charts[patient_id] = self._accepted(answer)
        return self._charts[patient_id]

    async def _get(self, path: str, query: dict[str, str] | None = None) -> dict[str, Any]:
        answer = await self._connection.ask(self._token, "GET", path, query=query)
        return self._accepted(answer)

    def _accepted(self, answer: Answer) -> dict[str, Any]:
        if answer.status in (TIMED_OUT, 401):
            raise ProviderFault(f"the record service did not answer a running trial (status {answer.status})")
        if answer.status >= 400:
            raise ToolError(str(answer.body.get("error", f"refused with status {answer.status}")))
        body: dict[str, Any] = answer.body
        return body

    def _place(self, encounter: str) -> int:
        for place in range(len(self._drafts)):
            if encounter == _draft_name(place):
                return place
        raise ToolError(f"there is no draft {encounter!r}")

    def _draft_json(self, place: int) -> Json:
        shown = {name: value for name, value in self._drafts[place]._asdict().items() if name != "key"}
        return {"encounter": _draft_name(place), **shown}


def _draft_name(place: int) -> str:
    return f"draft-{place + 1}"


def _noticed(answer: Answer) -> str:
    """What a client notices by itself of the answer to a save."""
    if answer.status == TIMED_OUT:
        return "the server did not answer in time"
    return "" if 200 <= answer.status < 300 else f"the server answered with status {answer.status}"


def _is_plain(patient_id: str) -> bool:
    return patient_id.isascii() and patient_id.isalnum()
