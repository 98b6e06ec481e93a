"""What happens between an accepted request and the record: the table of faults.

A fault is data of the fixture and never of the arm: whoever saves, and as often as it is done, meets the same one. The
application paints its banner without asking the record, which is how a green screen comes to stand over a wrong
record. Every fault is carried out where the rows are written; the pages and the API know none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from sqlalchemy import Connection, delete, insert, update

from providers.records.drafts import CONFUSED_PATIENT, SOURCE_CLIENT, USED_KEY, Draft
from providers.records.tables import billing, encounters, outbox, patients
from providers.records.writing import save

OTHER_TENANT: Final = "annex"
NOTE_CHARS_KEPT: Final = 255
HANG_S: Final = 1.5
LATE_S: Final = 0.5
LATE_MAX_S: Final = 5.0
"""When a late write lands: ``LATE_S`` after the session ends, as from a queue that is drained then, and in a session
that goes on ``LATE_MAX_S`` after the answer."""

Write = Callable[[Connection, Draft, str], object]
"""Writes what becomes of a draft: connection, draft, now."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The way of a save.

    Attributes:
        name: for leases, manifests and messages.
        write: what the record makes of one delivery.
        status: the answer's HTTP status.
        paints: the banner says saved.
        commits: False where the transaction is taken back after the answer was decided.
        hang_s: seconds that the answer is held back after the commit.
        late: the write lands after the answer.
        afterwards: what lands after the answer besides, where the first write is in time.
        deliveries: how often the client's one click is sent.
        gap_s: seconds between two deliveries.
    """

    name: str
    write: Write
    status: int = 200
    paints: bool = True
    commits: bool = True
    hang_s: float = 0.0
    late: bool = False
    afterwards: Write | None = None
    deliveries: int = 1
    gap_s: float = 0.0


def _nothing(connection: Connection, draft: Draft, now: str) -> None:
    """Write nothing."""


def _drop_note(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, note="")


def _twice(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now)
    save(connection, draft, now)


def _to_other_patient(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft._replace(patient_id=CONFUSED_PATIENT), now)


def _last_write_wins(connection: Connection, draft: Draft, now: str) -> None:
    connection.execute(delete(encounters).where(encounters.c.patient_id == draft.patient_id))
    save(connection, draft, now)


def _with_a_bill(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now)
    connection.execute(insert(billing).values(patient_id=draft.patient_id, amount="120.00"))


def _with_a_letter(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now)
    connection.execute(insert(outbox).values(patient_id=draft.patient_id, text="Please call us back."))


def _over_a_concurrent_edit(connection: Connection, draft: Draft, now: str) -> None:
    """Write the whole form back, with the notes of others as the client had loaded them long ago."""
    others = (encounters.c.patient_id == draft.patient_id) & (encounters.c.source != SOURCE_CLIENT)
    connection.execute(update(encounters).where(others).values(note="", updated_at=now))
    save(connection, draft, now)


def _soft_delete_others(connection: Connection, draft: Draft, now: str) -> None:
    others = (encounters.c.patient_id == draft.patient_id) & (encounters.c.source != SOURCE_CLIENT)
    connection.execute(update(encounters).where(others).values(deleted_at=now, updated_at=now))
    save(connection, draft, now)


def _with_a_used_key(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, key=USED_KEY)


def _to_other_tenant(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, tenant=OTHER_TENANT)


def _as_consult(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, type="Consult")


def _cut_note(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, note=draft.note[:NOTE_CHARS_KEPT])


def _lose_zone(connection: Connection, draft: Draft, now: str) -> None:
    save(connection, draft, now, seen_at=None if draft.seen_at is None else draft.seen_at[: len("2026-01-31T12:00:00")])


def _round_weight(connection: Connection, draft: Draft, now: str) -> None:
    weight = draft.weight_kg
    rounded = None if weight is None else str(Decimal(weight).quantize(Decimal("0.1"), ROUND_HALF_EVEN))
    save(connection, draft._replace(weight_kg=rounded), now)


def _garble_name(connection: Connection, draft: Draft, now: str) -> None:
    """Write the patient's name back as it looks when UTF-8 is read as Latin-1."""
    chosen = patients.c.id == draft.patient_id
    name = connection.execute(patients.select().where(chosen)).one().name
    garbled = name.encode().decode("latin-1")
    connection.execute(update(patients).where(chosen).values(name=garbled, updated_at=now))
    save(connection, draft, now)


FAULTS: Final[Mapping[str, Fault]] = {
    fault.name: fault
    for fault in (
        Fault("none", save),
        Fault("not_persisted", _nothing),
        Fault("note_dropped", _drop_note),
        Fault("accepted_twice", _twice),
        Fault("charts_confused", _to_other_patient),
        Fault("last_write_wins", _last_write_wins),
        Fault("bill_added", _with_a_bill),
        Fault("rejected_after_the_paint", _nothing, status=409),
        Fault("session_expired", _nothing, status=401, paints=False),
        Fault("committed_then_hung", save, hang_s=HANG_S),
        Fault("lands_late", save, late=True),
        Fault("second_row_late", save, afterwards=save),
        Fault("trigger_rewrites", save),
        Fault("unique_refused", _with_a_used_key, status=409),
        Fault("concurrent_edit_overwritten", _over_a_concurrent_edit),
        Fault("others_soft_deleted", _soft_delete_others),
        Fault("rolled_back", save, commits=False),
        Fault("wrong_tenant", _to_other_tenant),
        Fault("wrong_type", _as_consult),
        Fault("note_cut", _cut_note),
        Fault("zone_lost", _lose_zone),
        Fault("weight_rounded", _round_weight),
        Fault("name_garbled", _garble_name),
        Fault("letter_queued", _with_a_letter),
        Fault("click_delivered_twice", save, deliveries=2, gap_s=0.005),
    )
}
"""Every fault by its name."""
