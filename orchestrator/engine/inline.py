"""The backend without Ray: worker and oracle in the driver's own process and loop, behind the same interface."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import anyio

from oracle.hosting import OracleSetup, build_oracle
from oracle.service import OracleService
from orchestrator.engine.hosting import WorkerSetup, build_worker
from orchestrator.engine.peers import Crew, OraclePeer, WorkerPeer
from orchestrator.engine.worker import Worker
from spec.clock import Clock
from spec.errors import RunIncomplete
from spec.messages import OracleEvent, OracleOrders, WorkerEvent, WorkerOrders


class InlineWorker:
    """A worker in this process.

    Args:
        name: the worker's name.
        worker: the worker itself; somebody else runs its ``serve``.
    """

    def __init__(self, name: str, worker: Worker) -> None:
        self.name = name
        self._worker = worker

    async def post(self, orders: WorkerOrders) -> None:
        """Hand orders over."""
        self._worker.post(orders)

    async def events(self) -> AsyncIterator[Sequence[WorkerEvent]]:
        """Its events in batches."""
        while events := await self._worker.events():
            yield events

    async def ping(self) -> float:
        """It lives as long as this process."""
        return 0.0


class InlineOracle:
    """An oracle in this process.

    Args:
        name: the oracle's name.
        service: the oracle itself; somebody else runs its ``serve``.
    """

    def __init__(self, name: str, service: OracleService) -> None:
        self.name = name
        self._service = service

    async def post(self, orders: OracleOrders) -> None:
        """Hand orders over."""
        self._service.post(orders)

    async def events(self) -> AsyncIterator[Sequence[OracleEvent]]:
        """Its events in batches."""
        while events := await self._service.events():
            yield events

    async def ping(self) -> float:
        """It lives as long as this process."""
        return 0.0


class InlineCrew:
    """One worker and one oracle, which are lost only with the whole process."""

    def __init__(self, worker: WorkerPeer, oracle: OraclePeer) -> None:
        self.workers, self.oracles = [worker], [oracle]

    async def another_worker(self, lost: WorkerPeer) -> WorkerPeer:
        """There is no other process to be had."""
        raise RunIncomplete("a worker in the driver's own process cannot be replaced")

    async def another_oracle(self, lost: OraclePeer) -> OraclePeer:
        """There is no other process to be had."""
        raise RunIncomplete("an oracle in the driver's own process cannot be replaced")

    async def joined(self) -> WorkerPeer:
        """Nobody can come."""
        while True:
            await anyio.sleep_forever()

    async def lost_with(self, name: str) -> str:
        """There is one process and no node."""
        return ""

    async def watch(self) -> None:
        """Nothing carries it but this process."""
        await anyio.sleep_forever()


Body = Callable[[Crew], Awaitable[None]]


async def host_inline(setup: WorkerSetup, oracle: OracleSetup, clock: Clock, body: Body) -> None:
    """Run ``body`` with one worker and one oracle in this process."""
    worker = build_worker(setup, clock)

    async def fetch(_: str, places: Sequence[int]) -> bytes:
        return worker.snapshot(places)

    service = build_oracle(oracle, fetch, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.serve)
        tasks.start_soon(service.serve)
        await body(InlineCrew(InlineWorker(setup.worker_id, worker), InlineOracle("oracle-0", service)))
        tasks.cancel_scope.cancel()
