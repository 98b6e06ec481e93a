"""The public manifest of a pack.

::

    {"name", "version", "pack", "split", "pack_digest", "split_digest",
     "tasks": [{"task_id", "category", "split", "digest", "title", "goal", "axes", "contract_hash",
                "wiring", "payload"}]}

``pack_digest`` covers every task of the pack with its wiring, whatever the split; ``split_digest`` the chosen ones.
``payload`` is that of trial 0 with run seed 0. Of a task of the test split only id, category, split and digest are
public: the other fields are null.
"""

from __future__ import annotations

from collections.abc import Sequence

from providers.records.entry import Entry, Pack
from spec.canonical import Json, content_digest
from spec.contract import contract_hash
from spec.task import Split, Task, task_digest


def pack_manifest(name: str, version: str, pack: Pack, split: str, chosen: Sequence[Entry]) -> dict[str, Json]:
    """The manifest of the chosen part of a pack."""
    return {
        "name": name,
        "version": version,
        "pack": pack.name,
        "split": split,
        "pack_digest": _entries_digest(name, version, pack, pack.entries),
        "split_digest": _entries_digest(name, version, pack, chosen),
        "tasks": [_task_json(entry, pack) for entry in chosen],
    }


def _entries_digest(name: str, version: str, pack: Pack, entries: Sequence[Entry]) -> str:
    contents = [[entry.task.task_id, task_digest(entry.task), _wiring_json(entry)] for entry in entries]
    return content_digest([name, version, pack.name, contents])


def _task_json(entry: Entry, pack: Pack) -> dict[str, Json]:
    task = entry.task
    public: dict[str, Json] = {
        "task_id": task.task_id,
        "category": task.category.value,
        "split": task.split.value,
        "digest": task_digest(task),
    }
    details: dict[str, Json] = {
        "title": task.title,
        "goal": task.goal,
        "axes": _axes(task),
        "contract_hash": contract_hash(task.contract[0]),
        "wiring": _wiring_json(entry),
        "payload": pack.payload(task.task_id, 0, 0).params,
    }
    return public | (dict.fromkeys(details) if task.split is Split.TEST else details)


def _axes(task: Task) -> dict[str, Json]:
    return {
        "reversible": task.reversible,
        "effect_declared": task.effect_declared,
        "refusal_control": task.oracle.refusal_controls,
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
