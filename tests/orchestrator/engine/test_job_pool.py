"""Jobs cost a task only where they suspend, and overdue jobs are ended once."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
import pytest

from orchestrator.engine.job_pool import SWEEP_S, JobPool
from spec.clock import Clock, SystemClock

Run = Callable[[str], Awaitable[None]]


class Pool:
    """A pool of named jobs.

    Attributes:
        due: job -> when it is overdue.
        told: jobs that were reported as expired, in order.
        running: jobs that have begun and not ended.
    """

    def __init__(self, run: Run, clock: Clock) -> None:
        self.waiting: deque[str] = deque()
        self.due: dict[str, float] = {}
        self.told: list[str] = []
        self.running: set[str] = set()
        self.tasks: set[int] = set()
        self._run = run
        self.pool: JobPool[str] = JobPool(
            take=lambda: self.waiting.popleft() if self.waiting else None,
            run=self._carry_out,
            overdue=lambda job, now: now > self.due.get(job, now),
            expired=self.told.append,
            clock=clock,
        )

    async def _carry_out(self, job: str) -> None:
        self.running.add(job)
        self.tasks.add(anyio.get_current_task().id)
        try:
            await self._run(job)
        finally:
            self.running.discard(job)

    def add(self, *jobs: str) -> None:
        self.waiting.extend(jobs)
        self.pool.wake()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.pool.serve)
            await anyio.wait_all_tasks_blocked()
            yield
            tasks.cancel_scope.cancel()


async def at_once(job: str) -> None:
    """A job that never suspends."""


async def for_long(job: str) -> None:
    await anyio.sleep(3600)


@pytest.mark.anyio
async def test_a_thousand_quick_jobs_use_two_tasks(clock: Clock) -> None:
    """Jobs that return at once pass through one pump while another stands by."""
    pool = Pool(at_once, clock)
    async with pool.serving():
        pool.add(*map(str, range(1000)))
        await anyio.wait_all_tasks_blocked()
        assert not pool.waiting
        assert len(pool.tasks) <= 2
        assert len(pool.pool._pumps) <= 2


@pytest.mark.anyio
async def test_jobs_that_suspend_get_a_task_each_and_run_together(clock: Clock) -> None:
    """Two hundred slow jobs are all under way at once."""
    pool = Pool(for_long, clock)
    async with pool.serving():
        pool.add(*map(str, range(200)))
        await anyio.wait_all_tasks_blocked()
        assert len(pool.running) == len(pool.tasks) == 200
        assert len(pool.pool._pumps) == 201


@pytest.mark.anyio
async def test_tasks_are_used_again(clock: Clock) -> None:
    """A second wave of slow jobs makes no new task."""
    pool = Pool(lambda job: anyio.sleep(1), clock)
    async with pool.serving():
        for _ in range(3):
            pool.add(*map(str, range(50)))
            await anyio.sleep(2)
            assert not pool.running
            assert not pool.waiting
        assert len(pool.pool._pumps) <= 51


@pytest.mark.anyio
async def test_jobs_that_come_one_by_one_are_all_run(clock: Clock) -> None:
    """However waking and resting interleave, no job is left lying."""
    done: list[str] = []

    async def run(job: str) -> None:
        if int(job) % 3:
            await anyio.sleep(0.01 * (int(job) % 5))
        done.append(job)

    pool = Pool(run, clock)
    async with pool.serving():
        for number in range(300):
            pool.add(str(number))
            if number % 7 == 0:
                await anyio.sleep(0.003)
        await anyio.sleep(1)
    assert sorted(done, key=int) == [str(number) for number in range(300)]


@pytest.mark.anyio
async def test_jobs_that_never_suspend_leave_others_a_turn() -> None:
    """However many quick jobs there are, the loop has a turn at least about once a sweep."""
    clock = SystemClock()
    jobs = deque(["busy"] * 20)
    turns: list[int] = []

    async def busy(job: str) -> None:
        end_s = clock.monotonic() + SWEEP_S / 2
        while clock.monotonic() < end_s:
            pass

    async def count() -> None:
        while jobs:
            turns.append(len(jobs))
            await anyio.lowlevel.checkpoint()

    pool = JobPool[str](
        take=lambda: jobs.popleft() if jobs else None,
        run=busy,
        overdue=lambda job, now: False,
        expired=lambda job: None,
        clock=clock,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool.serve)
        await anyio.lowlevel.checkpoint()
        await count()
        tasks.cancel_scope.cancel()
    assert len(turns) >= 5


@pytest.mark.anyio
async def test_an_overdue_job_is_cancelled_and_told_once(clock: Clock) -> None:
    """It ends within one sweep of its time, its neighbour goes on, and its task takes another job."""
    pool = Pool(for_long, clock)
    async with pool.serving():
        pool.add("late", "long")
        pool.due["late"] = clock.monotonic() + 10
        await anyio.sleep(9.9)
        assert pool.running == {"late", "long"}
        await anyio.sleep(0.1 + 2 * SWEEP_S)
        assert (pool.running, pool.told) == ({"long"}, ["late"])
        before = len(pool.pool._pumps)
        pool.add("another")
        await anyio.sleep(60)
        assert pool.running == {"long", "another"}
        assert pool.told == ["late"]
        assert len(pool.pool._pumps) <= before + 1


@pytest.mark.anyio
async def test_a_job_that_swallows_its_cancellation_is_not_told(clock: Clock) -> None:
    """A job that comes to its own end after all is done, not expired, and its task goes on with other jobs."""
    ended: list[str] = []

    async def run(job: str) -> None:
        if job == "stubborn":
            try:
                await anyio.sleep(3600)
            except anyio.get_cancelled_exc_class():
                ended.append(job)  # and the cancellation goes no further
                pool.waiting.append("freed")  # as the end of one trial makes room for the next
        else:
            await anyio.sleep(1)
            ended.append(job)

    pool = Pool(run, clock)
    async with pool.serving():
        pool.add("stubborn")
        pool.due["stubborn"] = clock.monotonic() + 1
        await anyio.sleep(3)
        pool.add("next", "after")
        await anyio.sleep(5)
        assert ended == ["stubborn", "freed", "next", "after"]
        assert pool.told == []


@pytest.mark.anyio
async def test_the_end_of_serve_is_the_end_of_every_job(clock: Clock) -> None:
    """Cancelling ``serve`` ends running jobs, tells none of them as expired, and takes no further job."""
    pool = Pool(for_long, clock)
    async with pool.serving():
        pool.add(*map(str, range(20)))
        await anyio.wait_all_tasks_blocked()
        assert len(pool.running) == 20
    pool.add("after the end")
    await anyio.wait_all_tasks_blocked()
    assert (pool.running, pool.told) == (set(), [])
    assert list(pool.waiting) == ["after the end"]


@pytest.mark.anyio
async def test_jobs_before_serve_are_run_by_it(clock: Clock) -> None:
    """What waited already is taken when the pool begins."""
    pool = Pool(for_long, clock)
    pool.add("early")
    assert not pool.running
    async with pool.serving():
        assert pool.running == {"early"}
