"""One save on its way through the application: paint, write, answer, in the order that its fault says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from providers.records.drafts import Draft
from providers.records.faults import Fault, Write
from providers.records.storage import Access
from providers.records.writing import paint
from spec.clock import Clock

SAVED: str = "Encounter saved"
ACCEPTED = 200
CONFLICT = 409

Later = Callable[[float, Callable[[], object]], None]


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
        if fault.paints:
            await self._access.run(url, lambda connection: paint(connection, SAVED, draft.patient_id))
        status = fault.status
        if not self._is_late(fault):
            try:
                await self._write(url, fault.write, draft, commit=fault.commits)
            except IntegrityError:
                # A save whose key stands on record already was carried out before: it is not refused, only dropped.
                status = CONFLICT if draft.key is None else ACCEPTED
        if fault.hang_s:
            await self._clock.sleep(fault.hang_s)
        return status

    async def after_answer(self, url: str, fault: Fault, draft: Draft) -> None:
        """Carry out what lands after the answer; a record that is closed by then is left alone."""
        write = fault.write if self._is_late(fault) else fault.afterwards
        if write is None:
            return
        await self._clock.sleep(fault.late_s)
        with anyio.CancelScope(shield=True):
            try:
                await self._write(url, write, draft)
            except SQLAlchemyError:
                return

    @staticmethod
    def _is_late(fault: Fault) -> bool:
        return bool(fault.late_s) and fault.afterwards is None

    async def _write(self, url: str, write: Write, draft: Draft, *, commit: bool = True) -> None:
        now = self._clock.utc_now()
        await self._access.run(url, partial(_call, write, draft, now), commit=commit)


def _call(write: Write, draft: Draft, now: str, connection: Connection) -> None:
    write(connection, draft, now)
