"""Which trials go to which worker next.

A worker holds at most twice as many open trials of an arm as may run there: those that run, and as many again whose
fixtures are opened ahead, so that a slot that falls free never waits for a fixture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from orchestrator.engine.links import WorkerLink
from orchestrator.engine.permits import share, split
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan

AHEAD: Final = 2
"""Open trials for each permit: one running, one waiting."""

ON_THE_WAY: Final = 4
"""Leased and uncommitted trials for each permit, at most: what has run may wait for its reading and its commit."""


class Leasing:
    """Hands out owed trials, arm by arm in plan order, repeated ones first.

    Args:
        plan: the trials of the run.
        ledger: which of them are owed.
        in_flight: arms running at once, in all.
        limits: arm -> running at once, 0 for no limit of its own.
        lease_max: trials in one lease.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        ledger: Ledger,
        in_flight: int,
        limits: Mapping[str, int],
        lease_max: int,
    ) -> None:
        self._plan, self._ledger = plan, ledger
        self.in_flight, self._limits, self._lease_max = in_flight, dict(limits), lease_max
        self._fresh: list[Iterator[int]] = [self._owed_of(arm) for arm in range(len(plan.arms))]
        self._again: list[deque[int]] = [deque() for _ in plan.arms]
        counts = ledger.counts()
        self._unleased = [counts[arm].owed for arm in plan.arms]

    def _owed_of(self, arm: int) -> Iterator[int]:
        return (ordinal for ordinal in self._plan.of_arm(arm) if self._ledger.is_owed(ordinal))

    def again(self, ordinal: int) -> None:
        """A trial whose attempt failed has to be leased once more."""
        arm = self._plan.arm_of(ordinal)
        self._again[arm].append(ordinal)
        self._unleased[arm] += 1

    def deal(self, links: Sequence[WorkerLink], on_the_way: int, lease: Callable[[int, WorkerLink], None]) -> None:
        """Set every worker's permits and lease what there is room for.

        Args:
            links: the workers.
            on_the_way: trials that are leased and not committed.
            lease: called for each trial that goes out.
        """
        permits = self.permits(links)
        for link, of_worker in zip(links, permits, strict=True):
            link.allow(of_worker)
        room = ON_THE_WAY * self.in_flight + self._lease_max - on_the_way
        for link, of_worker in zip(links, permits, strict=True):
            room -= self._fill(link, of_worker, min(room, self._lease_max), lease)

    def _fill(
        self, link: WorkerLink, permits: Mapping[str, int], room: int, lease: Callable[[int, WorkerLink], None]
    ) -> int:
        leased = 0
        for place, arm in enumerate(self._plan.arms):
            wanted = min(AHEAD * permits[arm] - link.open_trials[arm], room - leased, self._unleased[place])
            for _ in range(wanted):
                ordinal = self._next(place)
                if ordinal is None:
                    break
                self._unleased[place] -= 1
                link.open_trials[arm] += 1
                leased += 1
                lease(ordinal, link)
        return leased

    def _next(self, arm: int) -> int | None:
        if self._again[arm]:
            return self._again[arm].popleft()
        return next(self._fresh[arm], None)

    def permits(self, links: Sequence[WorkerLink]) -> list[dict[str, int]]:
        """Worker by worker: arm -> how many may run there now; the sum is at most ``in_flight``."""
        arms = self._plan.arms
        weights = [[link.open_trials[arm] for link in links] for arm in arms]
        demands = [self._demand(place, sum(weights[place])) for place in range(len(arms))]
        shares = share(self.in_flight, demands)
        table: list[dict[str, int]] = [{} for _ in links]
        for place, arm in enumerate(arms):
            even = self._unleased[place] > 0
            parts = split(shares[place], [1] * len(links) if even else weights[place], first=place)
            for of_worker, part in zip(table, parts, strict=True):
                of_worker[arm] = part
        return table

    def _demand(self, place: int, open_trials: int) -> int:
        """How many permits an arm could use: all that it may have while trials are unleased, else one a trial."""
        limit = self._limits.get(self._plan.arms[place], 0) or self.in_flight
        return min(limit, self._unleased[place] + open_trials)
