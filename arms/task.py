"""What an arm is told of a trial.

This module imports next to nothing at run time, and so do ``arms.environment`` and ``arms.sync``: whatever stands in
their globals can be reached from the objects that an arm is handed, and one module that holds ``sys`` would open
every other (a named tuple's helper functions do).
"""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from spec.canonical import JsonObject
    from spec.environment import Tool


@dataclass(frozen=True, slots=True)
class ArmTask:
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
