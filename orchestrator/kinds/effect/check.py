"""Is a row what its task, its report and its reading make of it? The label is derived again, never believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from spec.task import Task


def row_problems(tasks: Mapping[str, Task], row: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with a row of this plan; empty for a sound row."""
    # pydantic takes a while to import, and only a check of finished rows needs it.
    from spec.row import MalformedRow, parse_row

    try:
        parsed = parse_row(orjson.dumps(row))
    except MalformedRow as error:
        return list(error.problems)
    task = tasks.get(parsed.task_id)
    if task is None:
        return [f"task_id {parsed.task_id!r} is not in the plan"]
    planned = {
        "category": task.category,
        "substrate": task.substrate,
        "correct_action_available": task.correct_action_available,
    }
    unread = (
        [] if parsed.oracle.before_reachable else ["there is a verdict, though the record was not read before the arm"]
    )
    return unread + [
        f"{name} is {getattr(parsed, name)!s}, the task says {value!s}"
        for name, value in planned.items()
        if getattr(parsed, name) != value
    ]
