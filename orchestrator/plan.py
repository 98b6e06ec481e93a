"""All trials of a run, generated and never stored (pure).

Plan order: tasks in the pack's order, then arms in the configuration's order, then trials. A trial's place in that
order is its index; key and index are computed from each other, so that a plan of a million trials costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from spec.trial import trial_key


class Cell(NamedTuple):
    """Which task, arm and trial stand at an index."""

    task: int
    arm: int
    trial: int


@dataclass(frozen=True)
class Plan:
    """The trials of a run.

    Attributes:
        task_ids: in the pack's order.
        arms: names in the configuration's order.
        trials: repetitions of each task by each arm.
    """

    task_ids: Sequence[str]
    arms: Sequence[str]
    trials: int
    _task_places: dict[str, int] = field(init=False, repr=False, compare=False)
    _arm_places: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the names once."""
        object.__setattr__(self, "_task_places", {name: place for place, name in enumerate(self.task_ids)})
        object.__setattr__(self, "_arm_places", {name: place for place, name in enumerate(self.arms)})

    def __len__(self) -> int:
        """How many trials are planned."""
        return len(self.task_ids) * len(self.arms) * self.trials

    def is_same(self, other: Plan) -> bool:
        """Whether another plan has the same trials in the same order."""
        mine, others = (list(self.task_ids), list(self.arms)), (list(other.task_ids), list(other.arms))
        return mine == others and self.trials == other.trials

    def cell(self, index: int) -> Cell:
        """Task, arm and trial at an index."""
        rest, trial = divmod(index, self.trials)
        task, arm = divmod(rest, len(self.arms))
        return Cell(task, arm, trial)

    def arm_of(self, index: int) -> int:
        """The place of the arm at an index; cheaper than the whole cell."""
        return index // self.trials % len(self.arms)

    def index(self, task: int, arm: int, trial: int) -> int:
        """The index of a task, arm and trial, each by its place."""
        return (task * len(self.arms) + arm) * self.trials + trial

    def key(self, index: int) -> str:
        """The key of the trial at an index."""
        task, arm, trial = self.cell(index)
        return trial_key(self.arms[arm], self.task_ids[task], trial)

    def find(self, key: str) -> int | None:
        """The index of a key, or None where the plan has no such trial."""
        head, mark, number = key.rpartition("::t")
        arm, _, task_id = head.partition("::")
        if not mark or not number.isascii() or not number.isdigit() or (number[0] == "0" and number != "0"):
            return None
        task_place, arm_place = self._task_places.get(task_id), self._arm_places.get(arm)
        if task_place is None or arm_place is None or int(number) >= self.trials:
            return None
        return self.index(task_place, arm_place, int(number))

    def of_arm(self, arm: int) -> Iterator[int]:
        """The indices of one arm's trials, in plan order."""
        for task in range(len(self.task_ids)):
            start = self.index(task, arm, 0)
            yield from range(start, start + self.trials)
