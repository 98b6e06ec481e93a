"""What an arm is and what it sees.

An arm is a system under test: a callable that takes an ``ArmTask`` and an ``Environment`` and returns an
``AgentReport`` (or a mapping with its fields). It may be ``async def`` or ``def``; a plain function runs in a thread
of its own and gets the same environment with plain methods (``SyncEnvironment``). A class is called once with its
options, and its instance is the arm.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import NamedTuple, Protocol

from arms.environment import Environment
from arms.sync import SyncEnvironment
from spec.canonical import JsonObject
from spec.environment import Tool
from spec.report import AgentReport


class ArmTask(NamedTuple):
    """Everything that an arm is told; never the task id, category, trial, contract or availability.

    Attributes:
        goal: the intent in plain words.
        params: the trial's values.
        tools: what may be called, with JSON schemas.
        seed: the trial's seed, for an arm that draws numbers.
        deadline_s: seconds from now after which the arm is stopped.
    """

    goal: str
    params: JsonObject
    tools: Sequence[Tool]
    seed: int
    deadline_s: float


Claim = AgentReport | Mapping[str, object]


class AsyncArm(Protocol):
    """An arm that awaits."""

    def __call__(self, task: ArmTask, environment: Environment) -> Awaitable[Claim]:
        """Work on one trial and report."""


class SyncArm(Protocol):
    """An arm that blocks; it gets a thread of its own."""

    def __call__(self, task: ArmTask, environment: SyncEnvironment) -> Claim:
        """Work on one trial and report."""


Arm = AsyncArm | SyncArm
