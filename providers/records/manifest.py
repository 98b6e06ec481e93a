"""The public manifest of a pack.

::

    {"name", "version", "pack", "split", "pack_digest", "split_digest",
     "tasks": [{"task_id", "category", "split", "digest", "title", "goal", "contract_hash", "wiring", "payload"}]}

Every task is in the split ``dev``; ``payload`` is that of trial 0 with run seed 0.
"""

from __future__ import annotations

from providers.records.entry import Entry, Pack
from spec.canonical import Json, content_digest
from spec.contract import contract_hash
from spec.task import task_digest


def pack_manifest(name: str, version: str, pack: Pack, split: str) -> dict[str, Json]:
    """The manifest of a whole pack."""
    contents = [[entry.task.task_id, task_digest(entry.task), _wiring_json(entry)] for entry in pack.entries]
    digest = content_digest([name, version, pack.name, contents])
    return {
        "name": name,
        "version": version,
        "pack": pack.name,
        "split": split,
        "pack_digest": digest,
        "split_digest": digest,
        "tasks": [_task_json(entry, pack) for entry in pack.entries],
    }


def _task_json(entry: Entry, pack: Pack) -> dict[str, Json]:
    task = entry.task
    return {
        "task_id": task.task_id,
        "category": task.category.value,
        "split": task.split.value,
        "digest": task_digest(task),
        "title": task.title,
        "goal": task.goal,
        "contract_hash": contract_hash(task.contract[0]),
        "wiring": _wiring_json(entry),
        "payload": pack.payload(task.task_id, 0, 0).params,
    }


def _wiring_json(entry: Entry) -> dict[str, Json]:
    wiring = entry.wiring
    return {
        "fault": wiring.fault,
        "rows": {table: [dict(row) for row in rows] for table, rows in wiring.rows.items()},
        "extras": list(wiring.extras),
        "intended_patient": wiring.intended_patient,
        "preset_type": wiring.preset_type,
        "sends_key": wiring.sends_key,
    }
