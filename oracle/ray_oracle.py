"""The oracle as a Ray actor: unnamed, and held by nobody who runs arm code. All it does is pass on."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
import ray

from oracle.hosting import OracleSetup, build_oracle, code_of
from spec.canonical import canonical_json
from spec.clock import SystemClock
from spec.memory import rare_collection
from spec.wire_orders import decode_oracle_orders, encode_oracle_events


class RayOracle:
    """Hosts one oracle service on the actor's own loop.

    Args:
        setup: what the oracle is built from.
        workers: worker's name -> its actor handle, for in-memory records.
        coalesce_s: seconds that events wait for others to travel with.
    """

    def __init__(self, setup: OracleSetup, workers: Mapping[str, Any], coalesce_s: float) -> None:
        self._workers = dict(workers)
        self._coalesce_s = coalesce_s
        self._setup = setup
        self._service = build_oracle(setup, self._fetch, SystemClock())
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    async def _fetch(self, worker: str, places: Sequence[int]) -> bytes:
        answer: bytes = await self._workers[worker].snapshot.remote(list(places))
        return answer

    async def meet(self, name: str, worker: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
        """Learn of a worker that takes a lost one's place."""
        self._workers[name] = worker

    async def ping(self) -> float:
        """Give a sign of life; that it comes says that the loop moves."""
        return 0.0

    async def pid(self) -> int:
        """The process that hosts the oracle."""
        return os.getpid()

    async def about(self) -> bytes:
        """Where this process is and what it imports, as JSON: node, host, code (package or module -> digest)."""
        get_host: Any = ray.util.get_node_ip_address
        node, host = ray.get_runtime_context().get_node_id(), get_host()
        return canonical_json({"node": node, "host": host, "code": code_of(self._setup)})

    async def serve(self) -> None:
        """Work until ``stop``."""
        with self._scope, rare_collection():
            await self._service.serve()
        self._ended.set()

    async def stop(self) -> None:
        """End ``serve``; the channels are closed before it returns."""
        self._scope.cancel()
        await self._ended.wait()

    async def post(self, orders: bytes) -> None:
        """Take orders."""
        self._service.post(decode_oracle_orders(orders))

    async def events(self) -> AsyncIterator[bytes]:
        """Stream events in batches; only drains, ``serve`` owns the tasks."""
        while events := await self._service.events(self._coalesce_s):
            yield encode_oracle_events(events)
