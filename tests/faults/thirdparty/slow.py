"""An arm that takes its time and then does what the scripted one does, so that a run can be met in its middle."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import anyio

from arms.base import ArmTask
from arms.baselines import screen_only
from arms.environment import Environment
from spec.report import AgentReport

LOOK_S: Final = 0.05


class Slow:
    """Sleeps and then believes the banner. Option ``work_s``: how long it sleeps, in seconds."""

    def __init__(self, work_s: float = 0.05) -> None:
        self._work_s = work_s

    async def __call__(self, task: ArmTask, environment: Environment) -> AgentReport:
        """Work on one trial."""
        await anyio.sleep(self._work_s)
        return await screen_only(task, environment)


class Waiting:
    """Works only once a file is there. Option ``until``: its path; before that, an arm that hangs."""

    def __init__(self, until: str) -> None:
        self._until = Path(until)

    async def __call__(self, task: ArmTask, environment: Environment) -> AgentReport:
        """Wait, then work."""
        while not self._until.exists():  # noqa: ASYNC110 - what comes is a file, made by another process
            await anyio.sleep(LOOK_S)
        return await screen_only(task, environment)
