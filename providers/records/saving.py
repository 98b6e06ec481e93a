"""One save on its way through the application: paint, write, answer, in the order that its fault says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from providers.records.drafts import Draft
from providers.records.faults import LATE_MAX_S, LATE_S, Fault, Write
from providers.records.storage import Access
from providers.records.writing import paint
from spec.clock import Clock

SAVED: str = "Encounter saved"
ACCEPTED = 200
CONFLICT = 409

_LOOK_S = 0.05
"""How often a late write looks whether its session is over."""


class Saves:
    """Carries saves to their records.

    Args:
        access: how a database is reached.
        clock: for change dates and waits.
    """

    def __init__(self, access: Access, clock: Clock) -> None:
        self._access, self._clock = access, clock

    async def save(self, url: str, fault: Fault, draft: Draft) -> int:
        """Carry out what happens before the answer; its HTTP status."""
        if fault.paints and not fault.hang_s:
            await self._paint(url, draft)
        status = fault.status
        if not fault.late:
            try:
                await self._write(url, fault.write, draft, commit=fault.commits)
            except IntegrityError:
                # A save whose key stands on record already was carried out before: it is not refused, only dropped.
                status = CONFLICT if draft.key is None else ACCEPTED
        if fault.hang_s:
            await self._paint(url, draft)  # last, so that who sees the banner knows that the save is through
            await self._clock.sleep(fault.hang_s)
        return status

    async def after_answer(self, url: str, fault: Fault, draft: Draft, ended: Callable[[], bool]) -> None:
        """Carry out what lands after the answer; a record that is closed by then is left alone.

        Args:
            url: of the database.
            fault: the way of the save.
            draft: what was saved.
            ended: whether the session is over.
        """
        write = fault.write if fault.late else fault.afterwards
        if write is None:
            return
        latest = self._clock.monotonic() + LATE_MAX_S
        while not ended() and self._clock.monotonic() < latest:
            await self._clock.sleep(_LOOK_S)
        await self._clock.sleep(LATE_S)
        with anyio.CancelScope(shield=True):
            try:
                await self._write(url, write, draft)
            except SQLAlchemyError:
                return

    async def _paint(self, url: str, draft: Draft) -> None:
        await self._access.run(url, lambda connection: paint(connection, SAVED, draft.patient_id))

    async def _write(self, url: str, write: Write, draft: Draft, *, commit: bool = True) -> None:
        now = self._clock.utc_now()
        await self._access.run(url, partial(_call, write, draft, now), commit=commit)


def _call(write: Write, draft: Draft, now: str, connection: Connection) -> None:
    write(connection, draft, now)
