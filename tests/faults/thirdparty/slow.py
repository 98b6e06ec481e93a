"""An arm that takes its time and then does what the scripted one does, so that a run can be met in its middle."""

from __future__ import annotations

import anyio

from arms.base import ArmTask
from arms.baselines import screen_only
from arms.environment import Environment
from spec.report import AgentReport


class Slow:
    """Sleeps and then believes the banner. Option ``work_s``: how long it sleeps, in seconds."""

    def __init__(self, work_s: float = 0.05) -> None:
        self._work_s = work_s

    async def __call__(self, task: ArmTask, environment: Environment) -> AgentReport:
        """Work on one trial."""
        await anyio.sleep(self._work_s)
        return await screen_only(task, environment)
