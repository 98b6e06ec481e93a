"""An arm that does nothing for half a second, so that a run can be met in its middle."""

from __future__ import annotations

import anyio

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport


async def act(task: ArmTask, environment: Environment) -> AgentReport:
    """Wait, and hand over."""
    await anyio.sleep(0.5)
    return AgentReport(reported_success=False, halted=True, message="not now")
