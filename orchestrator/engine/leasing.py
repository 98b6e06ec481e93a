"""Which trials go to which worker next.

A worker holds at most twice as many open trials of an arm as may run there: those that run, and as many again whose
fixtures are opened ahead, so that a slot that falls free never waits for a fixture.

What a deal costs depends on what has changed since the last one, not on the number of workers: only places that have
room are filled, and permits are worked out anew only when the shares of the arms may differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from orchestrator.engine.links import WorkerLink
from orchestrator.engine.permits import share, split
from orchestrator.engine.suspects import Suspects
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan

AHEAD: Final = 2
"""Open trials for each permit: one running, one waiting."""

ON_THE_WAY: Final = 4
"""Leased and uncommitted trials for each permit, at most: what has run may wait for its reading and its commit."""

TAIL_PARTS: Final = 16
"""Near the end permits follow the trials that are left; worked out anew when this part of the workers has ended one."""

_NO_LIMITS: Final[Mapping[str, int]] = {}

Lease = Callable[[int, WorkerLink], None]


class Leasing:
    """Hands out owed trials, arm by arm in plan order, repeated ones first.

    Args:
        plan: the trials of the run.
        ledger: which of them are owed.
        in_flight: arms running at once, in all.
        limits: arm -> running at once, 0 for no limit of its own.
        lease_max: trials in one lease.

    Attributes:
        paused: whether nothing is leased and nothing waiting may start.
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
        self.paused = False
        self._fresh: list[Iterator[int]] = [self._owed_of(arm) for arm in range(len(plan.arms))]
        self._again: list[deque[int]] = [deque() for _ in plan.arms]
        counts = ledger.counts()
        self._unleased = [counts[arm].owed for arm in plan.arms]
        self._open = [0] * len(plan.arms)
        self._suspects = Suspects()
        self._suspected = [0] * len(plan.arms)
        self._arm_places = {arm: place for place, arm in enumerate(plan.arms)}
        self._places: dict[WorkerLink, None] = {}
        self._hungry: dict[WorkerLink, None] = {}
        self._ends = 0
        self._reserve = False
        self._steady = False  # permits are such that they change with no end of an arm
        self._dealt_at: int | None = None  # the count of ends for which they were worked out

    def _owed_of(self, arm: int) -> Iterator[int]:
        return (ordinal for ordinal in self._plan.of_arm(arm) if self._ledger.is_owed(ordinal))

    @property
    def places(self) -> int:
        """How many workers' places are filled."""
        return len(self._places)

    def suspected(self) -> list[int]:
        """The trials that wait for a worker of their own."""
        return self._suspects.waiting()

    # What has changed

    def join(self, link: WorkerLink) -> None:
        """A worker's place is filled."""
        self._places[link] = None
        self._reserve = self._suspects.any
        self._all_new()

    def leave(self, link: WorkerLink) -> None:
        """A worker's place has become empty; nothing is leased there until somebody joins in it again."""
        self._places.pop(link, None)
        self._hungry.pop(link, None)
        self._suspects.leave(link)
        self._reserve = self._suspects.any
        self._all_new()

    def arm_ended(self, link: WorkerLink, arm: str) -> None:
        """The arm of a trial at a place has ended, or will not run."""
        link.open_trials[arm] -= 1
        self._open[self._arm_places[arm]] -= 1
        self._ends += 1
        self._hungry[link] = None

    def committed(self, link: WorkerLink) -> None:
        """A trial of a place is done with."""
        link.held -= 1
        if not link.held and self._suspects.is_kept(link):
            self._reserve = True
            self._all_new()

    def settled(self, link: WorkerLink, settle: int) -> None:
        """A worker runs no more arms than it may: what it gave up can go to others."""
        link.settled(settle)
        self._steady, self._dealt_at = False, None

    def again(self, ordinal: int) -> None:
        """A trial whose attempt failed has to be leased once more."""
        arm = self._plan.arm_of(ordinal)
        self._again[arm].append(ordinal)
        self._unleased[arm] += 1
        if not self._steady:
            self._all_new()

    def suspect(self, ordinals: Iterable[int]) -> None:
        """Trials that ran in a worker that died have to be leased once more, apart from all others."""
        group = list(ordinals)
        self._suspects.add(group)
        for ordinal in group:
            self._suspected[self._plan.arm_of(ordinal)] += 1
        self._reserve = True
        self._all_new()

    def adjust(self, *, in_flight: int = 0, lease_max: int = 0, limits: Mapping[str, int] = _NO_LIMITS) -> None:
        """Change bounds while the run works; 0, and what is not given, stays as it is."""
        self.in_flight = in_flight or self.in_flight
        self._lease_max = lease_max or self._lease_max
        self._limits.update(limits)
        self._all_new()

    def pause(self, paused: bool) -> None:
        """Stop leasing and starting, or go on with it."""
        self.paused = paused
        self._all_new()

    def refresh(self) -> None:
        """Near the end, work permits out anew with the next deal, however little has changed."""
        if self._suspects.any or not all(self._unleased):
            self._dealt_at = None

    def _all_new(self) -> None:
        self._steady, self._dealt_at = False, None
        self._hungry = dict.fromkeys(self._places)

    # Dealing

    def deal(self, on_the_way: int, lease: Lease) -> None:
        """Set the workers' permits and lease what there is room for.

        Args:
            on_the_way: trials that are leased and not committed.
            lease: called for each trial that goes out.
        """
        if not self.paused and (self._reserve or (self._suspects.any and not any(self._unleased))):
            self._suspects.reserve(list(self._places), all_of_them=not any(self._unleased))
            self._reserve = False
        self._allow()
        if self.paused:
            return
        if not any(self._unleased) and not self._suspects.any:
            self._hungry.clear()
            return
        room = ON_THE_WAY * self.in_flight + self._lease_max - on_the_way
        even_parts = [-(-count // max(1, len(self._places))) for count in self._unleased]
        for link in [link for link in self._hungry if link in self._places]:
            most = max(0, min(room, self._lease_max))
            del self._hungry[link]  # before: an end of an arm while leases go out makes it hungry again
            leased = self._fill(link, most, even_parts, lease)
            room -= leased
            if leased >= most:
                self._hungry[link] = None

    def _fill(self, link: WorkerLink, room: int, even_parts: Sequence[int], lease: Lease) -> int:
        """Fill a place up, with no more of an arm than its even part of what is left, so that all have work."""
        if self._suspects.is_kept(link):
            return self._fill_with_suspects(link, lease)
        leased = 0
        for place, arm in enumerate(self._plan.arms):
            wanted = min(AHEAD * link.permits[arm] - link.open_trials[arm], room - leased, even_parts[place])
            for _ in range(wanted):
                ordinal = self._next(place)
                if ordinal is None:
                    break
                self._unleased[place] -= 1
                leased += 1
                self._lease(ordinal, place, link, lease)
        return leased

    def _fill_with_suspects(self, link: WorkerLink, lease: Lease) -> int:
        group = self._suspects.take(link)
        for ordinal in group:
            place = self._plan.arm_of(ordinal)
            self._suspected[place] -= 1
            self._lease(ordinal, place, link, lease)
        if group:
            self._steady, self._dealt_at = False, None
        return len(group)

    def _lease(self, ordinal: int, place: int, link: WorkerLink, lease: Lease) -> None:
        link.open_trials[self._plan.arms[place]] += 1
        link.held += 1
        self._open[place] += 1
        lease(ordinal, link)

    def _next(self, arm: int) -> int | None:
        if self._again[arm]:
            return self._again[arm].popleft()
        return next(self._fresh[arm], None)

    # Permits

    def _allow(self) -> None:
        """Tell the workers their permits where these may have changed."""
        steady = all(self._unleased) and not self._suspects.any and self._demands() == self._limits_now()
        ends = self._ends // max(1, len(self._places) // TAIL_PARTS)
        self._steady = self._steady and steady
        if self._steady or ends == self._dealt_at:
            return
        table = dict(zip(self._places, self.permits(), strict=True))
        eased = self._ease(table)
        self._steady, self._dealt_at = steady and not eased, ends
        for link, of_worker in table.items():
            if link.allow(of_worker):
                self._hungry[link] = None

    def _ease(self, table: Mapping[WorkerLink, dict[str, int]]) -> bool:
        """Take back what permits grow by while arms run on permits that others have lost; whether that was needed.

        A worker whose permits fall ends no arm for it. Until it has settled, nobody else starts more.
        """
        eased = False
        for arm, limit in zip(self._plan.arms, self._limits_now(), strict=True):
            eased |= _lower(table, [arm], limit)
        return eased | _lower(table, self._plan.arms, self.in_flight)

    def permits(self) -> list[dict[str, int]]:
        """Worker by worker: arm -> how many may run there now; the sum is at most ``in_flight``.

        Groups of suspects come first: nothing else may be leased where they are, so what they cannot use, others can.
        """
        arms, limits = self._plan.arms, self._limits_now()
        table = {link: dict.fromkeys(arms, 0) for link in self._places}
        left = 0 if self.paused else self.in_flight
        fair = max(1, left // max(1, len(table)))
        for link in [link for link in table if self._suspects.is_busy(link)]:
            room = min(fair, left)
            for place, arm in enumerate(arms):
                part = table[link][arm] = min(link.open_trials[arm], room, limits[place])
                room, left, limits[place] = room - part, left - part, limits[place] - part
        others = [link for link in table if not self._suspects.is_busy(link)]
        if others:
            self._split(table, others, left, limits)
        return list(table.values())

    def _split(
        self, table: dict[WorkerLink, dict[str, int]], links: Sequence[WorkerLink], total: int, limits: Sequence[int]
    ) -> None:
        """Split permits over places that no group of suspects has: evenly, near the end as the trials are."""
        arms = self._plan.arms
        opens = [sum(link.open_trials[arm] for link in links) for arm in arms]
        demands = [min(limit, self._unleased[place] + opens[place]) for place, limit in enumerate(limits)]
        for place, (arm, part) in enumerate(zip(arms, share(total, demands), strict=True)):
            weights = [
                1 if self._unleased[place] and not self._suspects.is_kept(link) else link.open_trials[arm]
                for link in links
            ]
            for link, permits in zip(links, split(part, weights, first=place), strict=True):
                table[link][arm] = permits

    def _demands(self) -> list[int]:
        """How many permits each arm could use: all that it may have while trials are unleased, else one a trial."""
        owed = zip(self._unleased, self._suspected, self._open, strict=True)
        return [min(limit, sum(counts)) for limit, counts in zip(self._limits_now(), owed, strict=True)]

    def _limits_now(self) -> list[int]:
        return [self._limits.get(arm, 0) or self.in_flight for arm in self._plan.arms]


def _lower(table: Mapping[WorkerLink, dict[str, int]], arms: Sequence[str], limit: int) -> bool:
    """Lower what grows in a table of permits, until at most ``limit`` arms can run at once; whether that was needed."""
    over = sum(max(of_worker[arm], link.may_run(arm)) for link, of_worker in table.items() for arm in arms) - limit
    if over <= 0:
        return False
    for link, of_worker in table.items():
        for arm in arms:
            grows = min(over, max(0, of_worker[arm] - link.may_run(arm)))
            of_worker[arm] -= grows
            over -= grows
    return True
