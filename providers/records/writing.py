"""What the application writes to its record: the one honest save, the banner, a message to a patient."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert

from providers.records.drafts import SOURCE_CLIENT, TENANT, WEIGHT_CODE, WEIGHT_UNIT, Draft
from providers.records.tables import audit_log, banner, encounters, observations, outbox


def save(connection: Connection, draft: Draft, now: str, **changed: Any) -> int:  # noqa: ANN401 - values of columns
    """Write an encounter, with its weight where it has one.

    Args:
        connection: in a transaction of the caller's.
        draft: as the client sent it.
        now: for the change dates.
        changed: columns of the encounter that come out otherwise.

    Returns:
        The encounter's id.
    """
    row = {
        "patient_id": draft.patient_id,
        "type": draft.type,
        "note": draft.note,
        "source": SOURCE_CLIENT,
        "key": draft.key,
        "clinician": draft.clinician,
        "seen_at": draft.seen_at,
        "tenant": TENANT,
        "updated_at": now,
        **changed,
    }
    ident = connection.execute(insert(encounters).values(row)).inserted_primary_key
    assert ident is not None
    if draft.weight_kg is not None:
        weight = {"code": WEIGHT_CODE, "value": draft.weight_kg, "unit": WEIGHT_UNIT, "updated_at": now}
        link = {"encounter_id": ident[0], "patient_id": row["patient_id"]}
        connection.execute(insert(observations).values({**weight, **link}))
    note_down(connection, "save encounter", draft.patient_id, now)
    return int(ident[0])


def paint(connection: Connection, text: str, patient_id: str) -> None:
    """Show a banner in place of the last one."""
    connection.execute(delete(banner))
    connection.execute(insert(banner).values(id=1, text=text, patient_id=patient_id))


def queue_message(connection: Connection, patient_id: str, text: str, now: str) -> None:
    """Put a message to a patient into the outbox."""
    connection.execute(insert(outbox).values(patient_id=patient_id, text=text))
    note_down(connection, "queue message", patient_id, now)


def note_down(connection: Connection, action: str, patient_id: str | None, now: str) -> None:
    """Write to the application's diary."""
    connection.execute(insert(audit_log).values(at=now, action=action, patient_id=patient_id))
