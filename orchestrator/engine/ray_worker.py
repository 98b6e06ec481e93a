"""The worker as a Ray actor. All it does is pass on; what leaves it is bytes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import ray

from orchestrator.engine.hosting import WorkerSetup, build_worker, code_of
from spec.canonical import canonical_json
from spec.clock import SystemClock
from spec.memory import rare_collection
from spec.wire import encode_events
from spec.wire_orders import decode_worker_orders

SNAPSHOTS = "snapshots"
"""The concurrency group, and so the thread, in which the oracle reads in-memory records."""


class RayWorker:
    """Hosts one worker on the actor's own loop.

    Args:
        setup: what the worker is built from.
        coalesce_s: seconds that events wait for others to travel with.
    """

    def __init__(self, setup: WorkerSetup, coalesce_s: float) -> None:
        self._setup = setup
        self._worker = build_worker(setup, SystemClock())
        self._coalesce_s = coalesce_s
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    async def pid(self) -> int:
        """The process that hosts the worker."""
        return os.getpid()

    async def about(self) -> bytes:
        """Where this process is and what it imports, as JSON: node, host, code (package or module -> digest)."""
        get_host: Any = ray.util.get_node_ip_address
        node, host = ray.get_runtime_context().get_node_id(), get_host()
        return canonical_json({"node": node, "host": host, "code": code_of(self._setup)})

    async def serve(self) -> None:
        """Work until ``stop``."""
        with self._scope, rare_collection():
            await self._worker.serve()
        self._ended.set()

    async def stop(self) -> None:
        """End ``serve``; the fixtures are closed before it returns."""
        self._scope.cancel()
        await self._ended.wait()

    async def post(self, orders: bytes) -> None:
        """Take orders."""
        self._worker.post(decode_worker_orders(orders))

    async def events(self) -> AsyncIterator[bytes]:
        """Stream events in batches; only drains, ``serve`` owns the tasks."""
        while events := await self._worker.events(self._coalesce_s):
            yield encode_events(events)

    @ray.method(concurrency_group=SNAPSHOTS)
    async def ping(self) -> float:
        """Give a sign of life, from a thread that no arm keeps busy: the seconds since the worker's own loop moved."""
        return self._worker.held_up_s()

    @ray.method(concurrency_group=SNAPSHOTS)
    async def snapshot(self, places: Sequence[int]) -> bytes:
        """The records of in-memory fixtures; runs in another thread than the worker."""
        return self._worker.snapshot(places)
