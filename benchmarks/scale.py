"""What bounds the driver: alone against simulated workers, without Ray, on a clock that jumps.

Run with ``python -m benchmarks.scale`` (``--trials``, ``--workers``, ``--in-flight`` change the size). By default
10,000 workers, 1,000,000 trials of 60 s +- 30 s, five in flight a worker. Driver, journal and files are the real ones,
but syncs are left out and waiting takes no time: what is left is the driver's own work. Its share of a processor is
that work divided by the time that the run would have taken.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import math
import random
import resource
import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import anyio

from benchmarks.harness import machine
from oracle.base import Judgement
from orchestrator.engine.driver import Driver
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.peers import OraclePeer, WorkerPeer
from orchestrator.engine.rules import Rules
from orchestrator.files import OsFiles
from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import Journal
from orchestrator.kinds.base import Execution
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan
from spec.canonical import JsonObject
from spec.mailbox import Mailbox
from spec.memory import rare_collection
from spec.messages import Finished, Judged, Opened, OracleEvent, OracleOrders, Ready, Settled, WorkerEvent, WorkerOrders
from spec.reading import ReadPath
from spec.trial import Payload, Trial
from tests.conftest import LoopClock, run_virtual

SHORTEST_S: Final = 30.0
LONGEST_S: Final = 90.0
COALESCE_S: Final = 0.002
ROW_BYTES: Final = 1200
ARM: Final = "slow"
TASKS: Final = 100


class UnsyncedFiles(OsFiles):
    """The disk without its syncs."""

    def datasync(self, descriptor: int) -> None:
        """Takes no time."""

    fsync = datasync


class SimulatedWorker:
    """Opens at once; its arms take their time."""

    def __init__(self, name: str, draw: random.Random) -> None:
        self.name = name
        self._draw = draw
        self._waiting: deque[int] = deque()
        self._attempts: dict[int, int] = {}
        self._running = self._permits = self._settle = 0
        self._box: Mailbox[WorkerEvent] = Mailbox()

    async def post(self, orders: WorkerOrders) -> None:
        """Take orders."""
        if orders.permits is not None:
            self._permits = sum(orders.permits.values())
        self._settle = orders.settle or self._settle
        for trial in orders.lease:
            self._attempts[trial.ordinal] = trial.attempt
            self._box.put(Opened(trial.ordinal, trial.attempt, ReadPath("snapshot", True, {"worker": self.name})))
        self._waiting += orders.go
        self._start()
        self._tell_settled()

    def _tell_settled(self) -> None:
        if self._settle and self._running <= self._permits:
            self._box.put(Settled(self._settle))
            self._settle = 0

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._running < self._permits:
            self._running += 1
            loop.call_later(self._draw.uniform(SHORTEST_S, LONGEST_S), self._finish, self._waiting.popleft())

    def _finish(self, ordinal: int) -> None:
        self._running -= 1
        self._box.put(Finished(ordinal, self._attempts.pop(ordinal), {"ok": True}, None, "", "begun", "ended", 60.0))
        self._start()
        self._tell_settled()

    async def events(self) -> AsyncIterator[Sequence[WorkerEvent]]:
        """Its events, in batches as a Ray actor sends them."""
        while True:
            yield await self._box.take_all(COALESCE_S)

    async def ping(self) -> float:
        """It lives."""
        return 0.0


class SimulatedOracle:
    """Reads at once, and is content."""

    name = "oracle-0"

    def __init__(self) -> None:
        self._box: Mailbox[OracleEvent] = Mailbox()

    async def post(self, orders: OracleOrders) -> None:
        """Take orders."""
        for before in orders.before:
            self._box.put(Ready(before.ordinal, before.attempt))
        for after in orders.after:
            self._box.put(Judged(after.ordinal, after.attempt, 1, True, "", {"label": "success"}, None))

    async def events(self) -> AsyncIterator[Sequence[OracleEvent]]:
        """Its events."""
        while True:
            yield await self._box.take_all(COALESCE_S)

    async def ping(self) -> float:
        """It lives."""
        return 0.0


class SimulatedCrew:
    """All of them; nobody is lost, nobody joins."""

    def __init__(self, workers: int, draw: random.Random) -> None:
        self.workers: list[WorkerPeer] = [SimulatedWorker(f"worker-{place}", draw) for place in range(workers)]
        self.oracles: list[OraclePeer] = [SimulatedOracle()]

    async def another_worker(self, lost: WorkerPeer) -> NoReturn:
        """Nobody is lost."""
        raise AssertionError(lost.name)

    async def another_oracle(self, lost: OraclePeer) -> NoReturn:
        """Nobody is lost."""
        raise AssertionError(lost.name)

    async def joined(self) -> NoReturn:
        """Nobody joins."""
        await anyio.sleep_forever()
        raise AssertionError

    async def lost_with(self, name: str) -> NoReturn:
        """Nobody is lost."""
        raise AssertionError(name)

    async def watch(self) -> None:
        """Nothing breaks."""
        await anyio.sleep_forever()


class RowSide:
    """A kind whose rows have the size of real ones and cost nothing to make."""

    def __init__(self) -> None:
        self._row = {"outcome": "success", "text": "x" * ROW_BYTES}

    def row(self, trial: Trial, report: JsonObject, judgement: Judgement, execution: Execution) -> dict[str, Any]:
        """The same row for all."""
        return self._row

    def label(self, row: dict[str, Any]) -> str:
        """Always success."""
        return "success"


def make_driver(folder: Path, plan: Plan, in_flight: int) -> Driver:
    """A driver over a journal of its own."""
    clock, ledger = LoopClock(), Ledger(plan)
    side: Any = RowSide()
    hour_s = 3600.0
    return Driver(
        plan=plan,
        ledger=ledger,
        leasing=Leasing(plan=plan, ledger=ledger, in_flight=in_flight, limits={}, lease_max=256),
        journal=Journal.create(folder / JOURNAL_NAME, {"run_id": "scale"}, clock=clock, files=UnsyncedFiles()),
        side=side,
        not_reported=lambda fault, detail: {},
        payload=lambda task, trial: Payload(trial, {"n": trial}),
        trial_digest=lambda ordinal, seed: "sha256:" + "0" * 64,
        rules=Rules(
            attempts=3,
            drain_s=30.0,
            group_commit_s=0.005,
            stall_report_s=0.0,
            heartbeat_s=2.0,
            losses_max=3,
            open_s=hour_s,
            baseline_s=hour_s,
            deadlines_s={ARM: hour_s},
            read_s=hour_s,
            isolation={ARM: "in-process"},
        ),
        clock=clock,
        notice=print,
    )


class Drive(NamedTuple):
    """A run as it was measured.

    Attributes:
        lasted_s: what it would have taken, by the clock that jumps.
        cpu_s: what the driver worked.
    """

    lasted_s: float
    cpu_s: float


def drive(plan: Plan, workers: int, in_flight: int, profile: cProfile.Profile | None) -> Drive:
    """Run a plan to its end in a directory that is thrown away."""
    lasted_s = math.nan

    async def work() -> None:
        nonlocal lasted_s
        began_s = anyio.current_time()
        driver = make_driver(Path(folder), plan, in_flight)
        await driver.run(SimulatedCrew(workers, random.Random(0)))
        lasted_s = anyio.current_time() - began_s
        driver.ledger.check()
        assert driver.ledger.owed() == 0

    with tempfile.TemporaryDirectory(prefix="bench-") as folder, rare_collection():
        cpu_before_s = time.process_time()
        if profile is None:
            run_virtual(work)
        else:
            profile.runcall(run_virtual, work)
        return Drive(lasted_s, time.process_time() - cpu_before_s)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--in-flight", type=int, default=50_000)
    parser.add_argument("--profile", metavar="FILE", default="", help="write where the time goes, for pstats")
    size = parser.parse_args()
    print(f"machine: {machine()}", flush=True)
    plan = Plan([f"task-{place}" for place in range(TASKS)], [ARM], size.trials // TASKS)
    profile = cProfile.Profile() if size.profile else None
    lasted_s, cpu_s = drive(plan, size.workers, size.in_flight, profile)
    if profile is not None:
        profile.dump_stats(size.profile)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(plan):,} trials of 60 s +- 30 s, {size.workers:,} simulated workers, {size.in_flight:,} in flight: "
        f"{lasted_s:,.0f} s of a real run, {len(plan) / lasted_s:,.0f} commits/s\n"
        f"the driver worked {cpu_s:,.0f} s, {cpu_s / lasted_s:.0%} of one processor, {1e6 * cpu_s / len(plan):,.0f} us "
        f"a trial: at most about {len(plan) / cpu_s:,.0f} commits/s; peak {peak_mib:,.0f} MiB resident"
    )


if __name__ == "__main__":
    main()
