"""What an arm is told of a trial.

This module imports nothing at run time, and ``arms.environment`` and ``arms.sync`` next to nothing: whatever stands
in their globals can be reached from the objects that an arm is handed, and one module that holds ``sys`` would open
every other. That rules out a named tuple and a dataclass, whose methods come from such modules; hence a class by hand.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from spec.canonical import JsonObject
    from spec.environment import Tool


class ArmTask:
    """Everything that an arm is told; never the task id, category, trial, contract or availability. Frozen.

    Args:
        goal: the intent in plain words.
        params: the trial's values.
        tools: what may be called, with JSON schemas.
        seed: the trial's seed, for an arm that draws numbers.
        deadline_s: seconds from now after which the arm is stopped.
    """

    __slots__ = ("deadline_s", "goal", "params", "seed", "tools")

    goal: str
    params: JsonObject
    tools: Sequence[Tool]
    seed: int
    deadline_s: float

    def __init__(self, goal: str, params: JsonObject, tools: Sequence[Tool], seed: int, deadline_s: float) -> None:
        write = object.__setattr__
        write(self, "goal", goal)
        write(self, "params", params)
        write(self, "tools", tools)
        write(self, "seed", seed)
        write(self, "deadline_s", deadline_s)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"an arm's task is frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an arm's task is frozen: {name} cannot be deleted")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.goal, self.params, self.tools, self.seed, self.deadline_s)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArmTask) and self.__reduce__() == other.__reduce__()

    __hash__ = None  # type: ignore[assignment]  # params and tools are not hashable

    def __repr__(self) -> str:
        return f"ArmTask({self.goal!r}, {self.params!r}, seed={self.seed!r}, deadline_s={self.deadline_s!r})"
