"""Which of a worker's ready trials may start now: one lane an arm, each with its own permits."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar


class _OfArm(Protocol):
    @property
    def arm(self) -> str:
        """The arm whose lane it waits in."""


Waiting = TypeVar("Waiting", bound=_OfArm)


class Lanes(Generic[Waiting]):
    """Ready trials by arm; the lanes take turns, so that no arm waits behind another one.

    Args:
        arms: all arms of the run.
    """

    def __init__(self, arms: Iterable[str]) -> None:
        self._ready: dict[str, deque[Waiting]] = {arm: deque() for arm in arms}
        self._running = dict.fromkeys(self._ready, 0)
        self._permits = dict.fromkeys(self._ready, 0)
        self._running_in_all = self._permits_in_all = 0
        self._turns = deque(self._ready)

    def allow(self, permits: Mapping[str, int]) -> None:
        """Set how many trials of each arm may run at once."""
        self._permits.update(permits)
        self._permits_in_all = sum(self._permits.values())

    @property
    def settled(self) -> bool:
        """Whether no more trials of any arm run than are permitted."""
        return all(running <= self._permits[arm] for arm, running in self._running.items())

    def add(self, trial: Waiting) -> None:
        """A trial is ready to start."""
        self._ready[trial.arm].append(trial)

    def take(self) -> Waiting | None:
        """The next trial that may start, counted as running; None where there is none.

        While permits move from one arm to another, trials of the first may still run on them; so the sum counts too.
        """
        if self._running_in_all >= self._permits_in_all:
            return None
        for _ in range(len(self._turns)):
            arm = self._turns[0]
            self._turns.rotate(-1)
            if self._ready[arm] and self._running[arm] < self._permits[arm]:
                self._running[arm] += 1
                self._running_in_all += 1
                return self._ready[arm].popleft()
        return None

    def done(self, arm: str) -> None:
        """A running trial of this arm has ended."""
        self._running[arm] -= 1
        self._running_in_all -= 1

    def clear(self) -> list[Waiting]:
        """Take everything that has not started."""
        waiting = [trial for lane in self._ready.values() for trial in lane]
        for lane in self._ready.values():
            lane.clear()
        return waiting
