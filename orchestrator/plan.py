"""All trials of a run, generated and never stored (pure).

Plan order: tasks in the pack's order, then arms in the configuration's order, then trials. A trial's place in that
order is its index; key and index are computed from each other, so that a plan of a million trials costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spec.trial import trial_key

NUMBERS_MAX: Final = 16_384
"""Numbers whose texts are kept, since reading a text is the dearest part of finding a key; some 2 MB."""

NUMBER_CHARS_MAX: Final = 19
"""Digits of the largest number of a trial, far beyond what is allowed."""


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
    _starts: dict[str, int] = field(init=False, repr=False, compare=False)
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the first trial of every task by every arm, by the part of the key that its trials share."""
        names = (f"{arm}::{task_id}" for task_id in self.task_ids for arm in self.arms)
        object.__setattr__(self, "_starts", {name: place * self.trials for place, name in enumerate(names)})
        numbers = {str(trial): trial for trial in range(min(self.trials, NUMBERS_MAX))}
        object.__setattr__(self, "_numbers", numbers)

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
        head, _, number = key.rpartition("::t")
        start = self._starts.get(head)
        if start is None:
            return None
        known = self._numbers.get(number)
        if known is not None:
            return start + known
        if not (number.isdecimal() and number.isascii()) or len(number) > NUMBER_CHARS_MAX:
            return None
        if number[0] == "0" and number != "0":
            return None
        trial = int(number)
        return start + trial if trial < self.trials else None

    def find_all(self, keys: Sequence[str]) -> list[int | None]:
        """The index of each key, as ``find``; quick for trials that stand one behind the other, as leases have them."""
        found: list[int | None] = []
        place = 0
        while place < len(keys):
            key, first = keys[place], self.find(keys[place])
            count = 1
            if first is not None:
                trial = first % self.trials
                stem, last = key[: key.rindex("::t") + 3], min(len(keys) - place, self.trials - trial) - 1
                # The last key tells nearly always, and cheaply, whether all keys up to it follow.
                if last and keys[place + last] == f"{stem}{trial + last}":
                    followers = [f"{stem}{number}" for number in range(trial, trial + last + 1)]
                    count = last + 1 if keys[place : place + last + 1] == followers else 1
            found.extend((None,) if first is None else range(first, first + count))
            place += count
        return found

    def of_arm(self, arm: int) -> Iterator[int]:
        """The indices of one arm's trials, in plan order."""
        for task in range(len(self.task_ids)):
            start = self.index(task, arm, 0)
            yield from range(start, start + self.trials)
