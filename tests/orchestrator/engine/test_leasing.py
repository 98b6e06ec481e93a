"""Leasing keeps its limits at every step of every run, and each owed trial goes out exactly once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.leasing import AHEAD, Leasing
from orchestrator.engine.links import Outbox, WorkerLink
from orchestrator.engine.peers import WorkerPeer
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan


class House:
    """Workers, a ledger and leasing, driven by hand."""

    def __init__(
        self,
        *,
        arms: int,
        tasks: int,
        trials: int,
        workers: int,
        in_flight: int,
        lease_max: int,
        limits: dict[str, int],
    ) -> None:
        self.plan = Plan([f"t{place}" for place in range(tasks)], [f"arm{place}" for place in range(arms)], trials)
        self.ledger = Ledger(self.plan)
        self.in_flight, self.lease_max, self.limits = in_flight, lease_max, limits
        self.links = [WorkerLink(cast(WorkerPeer, None), list(self.plan.arms), Outbox()) for _ in range(workers)]
        self.leasing = Leasing(
            plan=self.plan, ledger=self.ledger, in_flight=in_flight, limits=limits, lease_max=lease_max
        )
        for link in self.links:
            self.leasing.join(link)
        self.leased: Counter[int] = Counter()
        self.open: dict[int, WorkerLink] = {}

    def arm(self, ordinal: int) -> str:
        return self.plan.arms[self.plan.arm_of(ordinal)]

    def deal(self) -> list[int]:
        """Lease, and check everything that must hold whenever leases go out."""
        permits = self.leasing.permits()
        assert sum(sum(of_worker.values()) for of_worker in permits) <= self.in_flight
        for arm, limit in self.limits.items():
            assert not limit or sum(of_worker[arm] for of_worker in permits) <= limit
        went_out: list[int] = []
        lanes: set[tuple[int, str]] = set()
        per_worker: Counter[int] = Counter()

        def lease(ordinal: int, link: WorkerLink) -> None:
            went_out.append(ordinal)
            self.leased[ordinal] += 1
            self.open[ordinal] = link
            per_worker[self.links.index(link)] += 1
            lanes.add((self.links.index(link), self.arm(ordinal)))

        self.leasing.deal(len(self.open), lease)
        for place, arm in lanes:
            assert self.links[place].open_trials[arm] <= AHEAD * permits[place][arm]
        assert max(per_worker.values(), default=0) <= self.lease_max
        return went_out

    def permits_of(self, arm: str) -> int:
        return sum(of_worker[arm] for of_worker in self.leasing.permits())

    def end(self, ordinal: int) -> None:
        self._let_go(ordinal)
        self.ledger.ended(ordinal, Standing.SCORED, 0)

    def fail(self, ordinal: int) -> None:
        self._let_go(ordinal)
        self.leasing.again(ordinal)

    def _let_go(self, ordinal: int) -> None:
        link = self.open.pop(ordinal)
        self.leasing.arm_ended(link, self.arm(ordinal))
        self.leasing.committed(link)


houses = st.fixed_dictionaries(
    {
        "arms": st.integers(1, 4),
        "tasks": st.integers(1, 5),
        "trials": st.integers(1, 12),
        "workers": st.integers(1, 4),
        "in_flight": st.integers(1, 20),
        "lease_max": st.integers(1, 16),
        "limits": st.dictionaries(st.sampled_from([f"arm{place}" for place in range(4)]), st.integers(0, 5)),
    }
)


@settings(max_examples=60, deadline=None)
@given(houses, st.randoms(use_true_random=False))
def test_every_run_comes_to_its_end_within_its_limits(size: dict[str, Any], draw: random.Random) -> None:
    """In any order of ends and failures, limits hold at each deal and each trial goes out once and once a failure."""
    arms = size["arms"]
    limits = {arm: limit for arm, limit in size["limits"].items() if int(arm[3:]) < arms}
    house = House(**{**size, "limits": limits})
    failures: Counter[int] = Counter()
    house.deal()
    while house.ledger.owed():
        assert house.open, "trials are owed and nothing is on its way"
        waiting = [
            ordinal
            for ordinal, link in house.open.items()
            if sum(of_worker[house.arm(ordinal)] for of_worker in [house.leasing.permits()[house.links.index(link)]])
        ]
        assert waiting, "no open trial has a permit where it is"
        ordinal = draw.choice(waiting)
        if draw.random() < 0.2 and failures[ordinal] < 2:
            failures[ordinal] += 1
            house.fail(ordinal)
        else:
            house.end(ordinal)
        house.deal()
    assert house.leased == {ordinal: 1 + failures[ordinal] for ordinal in range(len(house.plan))}
    assert house.open == {}


def test_trials_that_have_ended_are_not_leased() -> None:
    """A resumed run leases what is owed and nothing else."""
    house = House(arms=2, tasks=3, trials=4, workers=1, in_flight=100, lease_max=100, limits={})
    for ordinal in range(0, 24, 2):
        house.ledger.ended(ordinal, Standing.SCORED, 0)
    house.leasing = Leasing(plan=house.plan, ledger=house.ledger, in_flight=100, limits={}, lease_max=100)
    house.leasing.join(house.links[0])
    assert sorted(house.deal()) == list(range(1, 24, 2))
    assert house.deal() == []


def test_failed_trials_go_first() -> None:
    """A trial whose attempt failed is leased before its arm's next fresh one."""
    house = House(arms=1, tasks=1, trials=10, workers=1, in_flight=2, lease_max=10, limits={})
    assert house.deal() == [0, 1, 2, 3]
    house.fail(2)
    house.end(0)
    assert house.deal() == [2, 4]


def test_a_slow_arm_never_takes_the_quick_arms_share() -> None:
    """While one arm's trials never end, the other keeps its half of the permits to its last trial."""
    house = House(arms=2, tasks=1, trials=200, workers=2, in_flight=16, lease_max=64, limits={})
    house.deal()
    done = 0
    while quick := [ordinal for ordinal in house.open if house.arm(ordinal) == "arm1"]:
        if done < 180:
            assert house.permits_of("arm1") == 8
        house.end(quick[0])
        done += 1
        house.deal()
    assert done == 200
    assert house.permits_of("arm0") == 16


def test_what_an_arm_cannot_use_goes_to_the_others() -> None:
    """An arm with a limit of its own leaves the rest to the arms without one."""
    house = House(arms=3, tasks=1, trials=100, workers=1, in_flight=30, lease_max=500, limits={"arm0": 2})
    house.deal()
    assert [house.permits_of(arm) for arm in house.plan.arms] == [2, 14, 14]


def test_at_the_tail_permits_are_where_the_trials_are() -> None:
    """When nothing is left to lease, each worker may run exactly the trials that it has, up to the limit."""
    house = House(arms=1, tasks=1, trials=8, workers=2, in_flight=8, lease_max=8, limits={})
    house.deal()
    first = house.links[0]
    for ordinal in [ordinal for ordinal, link in house.open.items() if link is first]:
        house.end(ordinal)
    left = house.links[1].open_trials["arm0"]
    assert house.leasing.permits() == [{"arm0": 0}, {"arm0": left}]


def test_a_lease_is_no_longer_than_allowed() -> None:
    """A worker gets at most lease_max trials at once, however much room there is."""
    house = House(arms=1, tasks=1, trials=100, workers=2, in_flight=100, lease_max=3, limits={})
    assert len(house.deal()) == 6
    assert len(house.deal()) == 6


def test_nobody_starts_on_what_another_worker_still_uses() -> None:
    """A worker that joins gets permits only as the others settle, so that no more arms run than allowed."""
    house = House(arms=1, tasks=1, trials=100, workers=1, in_flight=8, lease_max=100, limits={})
    house.deal()
    first = house.links[0]
    assert first.permits == {"arm0": 8}
    second = WorkerLink(cast(WorkerPeer, None), list(house.plan.arms), Outbox())
    house.links.append(second)
    house.leasing.join(second)
    house.deal()
    assert (first.permits, second.permits) == ({"arm0": 4}, {"arm0": 0})
    house.leasing.settled(first, 1)
    house.deal()
    assert (first.permits, second.permits) == ({"arm0": 4}, {"arm0": 4})
