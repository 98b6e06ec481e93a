"""Arms that break the rules, each in its own way, after they have acted."""

from __future__ import annotations

import sys
from typing import Any

import anyio

from arms.base import ArmTask
from arms.environment import Environment
from arms.sync import SyncEnvironment
from spec.environment import ToolError
from spec.errors import ArmFaultError
from spec.report import ArmFault


class Wicked(BaseException):
    """Not meant to be caught by anybody."""


class Liar(Exception):
    """Cannot even be described."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


async def nothing(task: ArmTask, environment: Environment) -> Any:
    """Report nothing."""
    await environment.attempt_intended_action()


async def strange(task: ArmTask, environment: Environment) -> Any:
    """Report with every field wrong."""
    await environment.attempt_intended_action()
    return {"reported_success": "yes", "halted": 0, "mood": "good", "message": 7}


async def long_winded(task: ArmTask, environment: Environment) -> Any:
    """Report more than a report may hold."""
    return {"reported_success": True, "model_calls": [{"model": "m", "note": "x" * 4000}] * 400}


async def raises(task: ArmTask, environment: Environment) -> Any:
    """Fail after the work was done."""
    await environment.attempt_intended_action()
    raise Liar


async def exits(task: ArmTask, environment: Environment) -> Any:
    """Ask the process to end."""
    sys.exit(3)


async def wicked(task: ArmTask, environment: Environment) -> Any:
    """Raise what no handler of exceptions sees."""
    raise Wicked


async def cancels(task: ArmTask, environment: Environment) -> Any:
    """Pretend to have been cancelled."""
    raise anyio.get_cancelled_exc_class()


async def hangs(task: ArmTask, environment: Environment) -> Any:
    """Never come back."""
    await anyio.sleep_forever()


async def shielded(task: ArmTask, environment: Environment) -> Any:
    """Come back after the deadline, with a good report."""
    with anyio.CancelScope(shield=True):
        await anyio.sleep(task.deadline_s + 0.3)
    return {"reported_success": True}


async def refuses(task: ArmTask, environment: Environment) -> Any:
    """Say that the task is none to be done."""
    raise ArmFaultError(ArmFault.REFUSAL, "not this one")


async def fumbles(task: ArmTask, environment: Environment) -> Any:
    """Call a tool that is not there, and let the refusal through."""
    return await environment.call("dig", depth=3)


def blocks(task: ArmTask, environment: SyncEnvironment) -> Any:
    """Fail in a thread."""
    environment.attempt_intended_action()
    raise ToolError("gave up")
