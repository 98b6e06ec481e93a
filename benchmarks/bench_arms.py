"""Arms for the benchmarks: they wait, as an agent waits for its model, and do nothing."""

from __future__ import annotations

import anyio

from arms.base import ArmTask
from arms.environment import Environment
from spec.report import AgentReport

HALTED = AgentReport(reported_success=False, halted=True)


class Sleeper:
    """Waits, then halts.

    Args:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def __call__(self, task: ArmTask, environment: Environment, /) -> AgentReport:
        """Wait and halt."""
        await anyio.sleep(self._seconds)
        return HALTED
