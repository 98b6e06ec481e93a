"""The public manifest of a declaration.

::

    {"name", "version", "pack", "split", "pack_digest", "split_digest", "channel",
     "tasks": [{"task_id", "category", "split", "digest", "title", "goal", "axes", "contract_hash", "payload"}]}

``pack_digest`` covers the whole declaration and every file that it names; ``split_digest`` the chosen tasks besides.
``payload`` is that of trial 0 of a run with seed 0. Of a task of the test split only id, category, split and digest are
public. Wiring is never public: it is what makes a task hard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from providers.declared.loading import Loaded
from spec.canonical import Json, content_digest
from spec.contract import contract_hash
from spec.task import Split, Task, task_digest
from spec.trial import Payload


def declared_manifest(
    loaded: Loaded, split: str, chosen: Sequence[Task], payload: Callable[[Task, int, int], Payload]
) -> dict[str, Json]:
    """The manifest of the chosen part of a declaration."""
    declaration = loaded.declaration
    return {
        "name": declaration.name,
        "version": declaration.version,
        "pack": declaration.name,
        "split": split,
        "pack_digest": loaded.digest,
        "split_digest": content_digest([loaded.digest, [task_digest(task) for task in chosen]]),
        "channel": declaration.record.channel,
        "tasks": [_task_json(task, payload) for task in chosen],
    }


def _task_json(task: Task, payload: Callable[[Task, int, int], Payload]) -> dict[str, Json]:
    public: dict[str, Json] = {
        "task_id": task.task_id,
        "category": task.category.value,
        "split": task.split.value,
        "digest": task_digest(task),
    }
    details: dict[str, Json] = {
        "title": task.title,
        "goal": task.goal,
        "axes": {"reversible": task.reversible, "effect_declared": task.effect_declared},
        "contract_hash": contract_hash(task.contract[0]),
        "payload": payload(task, 0, 0).params,
    }
    return public | (dict.fromkeys(details) if task.split is Split.TEST else details)
