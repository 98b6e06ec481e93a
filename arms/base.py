"""What an arm is.

An arm is a system under test: a callable that takes an ``ArmTask`` and an ``Environment`` and returns an
``AgentReport`` (or a mapping with its fields). It may be ``async def`` or ``def``; a plain function runs in a thread
of its own and gets the same environment with plain methods (``SyncEnvironment``). A class is called once with its
options, and its instance is the arm; ``arms.loading`` does that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Protocol

from arms.environment import Environment
from arms.sync import SyncEnvironment
from arms.task import ArmTask
from spec.report import AgentReport

__all__ = ["Arm", "ArmTask", "AsyncArm", "Claim", "SyncArm"]

Claim = AgentReport | Mapping[str, object]


class AsyncArm(Protocol):
    """An arm that awaits."""

    def __call__(self, task: ArmTask, environment: Environment, /) -> Awaitable[Claim]:
        """Work on one trial and report."""


class SyncArm(Protocol):
    """An arm that blocks; it gets a thread of its own."""

    def __call__(self, task: ArmTask, environment: SyncEnvironment, /) -> Claim:
        """Work on one trial and report."""


Arm = AsyncArm | SyncArm
