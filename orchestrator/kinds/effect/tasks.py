"""What can be wrong with a task of kind effect; asked before anything is started."""

from __future__ import annotations

from spec.contract import contract_problems, unresolved
from spec.task import Task
from spec.trial import Payload


def task_problems(task: object, payload: object) -> list[str]:
    """Why a task could not be run or judged; empty where it can.

    Args:
        task: what the provider calls a task.
        payload: what the provider calls the payload of one of its trials.
    """
    if not isinstance(task, Task):
        return [f"it must be a spec.task.Task, not a {type(task).__name__}"]
    if not isinstance(payload, Payload):
        return [f"its payload must be a spec.trial.Payload, not a {type(payload).__name__}"]
    problems = list(contract_problems(task.contract))
    problems += [
        f"the contract needs the parameter {name!r}, which its payload does not have"
        for name in unresolved(task.contract, payload.params)
    ]
    try:
        task.goal.format_map(payload.params)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        problems.append(f"the goal cannot be filled in: {type(error).__name__}: {error}")
    return problems
