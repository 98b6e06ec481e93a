"""Arms that end or block the process that they run in."""

from __future__ import annotations

import os
import time
from typing import Any

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport


async def killer(task: ArmTask, environment: Environment) -> Any:
    """Ends its whole process where its seed is 1; else it does as it was asked."""
    if task.seed == 1:
        os._exit(3)
    screen = await environment.attempt_intended_action()
    return AgentReport(screen.saved)


async def blocker(task: ArmTask, environment: Environment) -> Any:
    """Holds up everything in its process where its seed is 0, far beyond its deadline."""
    if task.seed == 0:
        time.sleep(3600)  # noqa: ASYNC251 - that is what it is for
    screen = await environment.attempt_intended_action()
    return AgentReport(screen.saved)
