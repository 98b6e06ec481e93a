"""What can be wrong with a task of kind effect; asked before anything is started."""

from __future__ import annotations

import math

from spec.contract import contract_problems, unresolved
from spec.reading import RecordSchema
from spec.task import Task
from spec.text import describe
from spec.trial import Payload


def task_problems(task: object, payload: object, schema: RecordSchema) -> list[str]:
    """Why a task could not be run or judged; empty where it can.

    Args:
        task: what the provider calls a task.
        payload: what the provider calls the payload of one of its trials.
        schema: what of a record the provider keeps for itself, so that no contract can ask for it.
    """
    if not isinstance(task, Task):
        return [f"it must be a spec.task.Task, not a {type(task).__name__}"]
    if not isinstance(payload, Payload):
        return [f"its payload must be a spec.trial.Payload, not a {type(payload).__name__}"]
    problems = contract_problems(task.contract, schema)
    if isinstance(task.settle_s, bool) or not (math.isfinite(task.settle_s) and task.settle_s >= 0):
        problems.append(f"settle_s must be a finite number of seconds from 0, not {task.settle_s!r}")
    problems += [
        f"the contract needs the parameter {name!r}, which its payload does not have"
        for name in unresolved(task.contract, payload.params)
    ]
    try:
        task.goal.format_map(payload.params)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        problems.append(describe(error, "the goal cannot be filled in"))
    return problems
