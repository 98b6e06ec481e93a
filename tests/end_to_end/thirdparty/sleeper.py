"""An arm that is still at work when somebody loses patience."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from arms.base import ArmTask
from arms.environment import Environment


class Sleeper:
    """Sleeps far beyond any test. Option ``marker``: a file that is there once it sleeps."""

    def __init__(self, marker: str) -> None:
        self._marker = Path(marker)

    async def __call__(self, task: ArmTask, environment: Environment) -> Any:
        """Lie down."""
        self._marker.touch()
        await anyio.sleep(3600)
