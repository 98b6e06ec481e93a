"""The public manifest of a pack.

::

    {"name", "version", "pack", "split", "pack_digest", "split_digest",
     "tasks": [{"task_id", "category", "split", "digest", "title", "goal", "axes", "contract_hash",
                "wiring", "payload"}]}

``pack_digest`` covers every task of the pack with its wiring, whatever the split; ``split_digest`` the chosen ones.
``payload`` is that of trial 0. Of a task of the test split only id, category, split and digest are public: the other
fields are null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from providers.mockmed.pack import VERSION, Entry, PackName, Wiring
from spec.canonical import Json, content_digest
from spec.contract import contract_hash
from spec.task import Split, Task, task_digest
from spec.trial import Payload


def pack_manifest(
    name: str,
    pack: PackName,
    split: str,
    whole: Sequence[Entry],
    chosen: Sequence[Entry],
    payload: Callable[[str, int], Payload],
) -> dict[str, Json]:
    """The manifest of the chosen part of a pack."""
    return {
        "name": name,
        "version": VERSION,
        "pack": pack.value,
        "split": str(split),
        "pack_digest": _entries_digest(name, pack, whole),
        "split_digest": _entries_digest(name, pack, chosen),
        "tasks": [_task_json(entry, payload) for entry in chosen],
    }


def _entries_digest(name: str, pack: PackName, entries: Sequence[Entry]) -> str:
    contents = [[task.task_id, task_digest(task), _wiring_json(wiring)] for task, wiring in entries]
    return content_digest([name, VERSION, pack.value, contents])


def _task_json(entry: Entry, payload: Callable[[str, int], Payload]) -> dict[str, Json]:
    task, wiring = entry
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
        "wiring": _wiring_json(wiring),
        "payload": payload(task.task_id, 0).params,
    }
    return public | (dict.fromkeys(details) if task.split is Split.TEST else details)


def _axes(task: Task) -> dict[str, Json]:
    return {
        "reversible": task.reversible,
        "effect_declared": task.effect_declared,
        "refusal_control": task.oracle.refusal_controls,
    }


def _wiring_json(wiring: Wiring) -> dict[str, Json]:
    desk, boundary = wiring
    return {
        "desk": desk.name,
        "patients": [patient._asdict() for patient in desk.patients],
        "preset_type": desk.preset_type,
        "dead_controls": sorted(desk.dead_controls),
        "seeded": list(desk.seeded),
        "loaded": list(desk.loaded),
        "boundary": boundary.name,
        "deliveries": boundary.deliveries,
        "banner": {"saved": boundary.screen.saved, "banner": boundary.screen.banner},
        "sends_key": boundary.sends_key,
    }
