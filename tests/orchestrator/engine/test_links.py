"""Orders pile up while a batch is on its way, and leave together, once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import pytest

from orchestrator.engine.links import OracleLink, Outbox, WorkerLink
from spec.errors import PeerLost
from spec.messages import OracleOrders, ReadAfter, WorkerOrders
from spec.trial import Trial


class SlowPeer:
    """Takes a second for each batch; raises what it is told to."""

    name = "slow"

    def __init__(self) -> None:
        self.batches: list[Any] = []
        self.error: Exception | None = None

    async def ping(self) -> float:
        """It lives."""
        return 0.0

    async def post(self, orders: Any) -> None:
        if self.error is not None:
            raise self.error
        await anyio.sleep(1)
        self.batches.append(orders)

    def events(self) -> AsyncIterator[Sequence[Any]]:
        raise AssertionError("a link only sends")


def trial(ordinal: int) -> Trial:
    return Trial(ordinal, f"a::t::t{ordinal}", "t", "a", ordinal, 0, {}, 1)


@pytest.mark.anyio
async def test_orders_that_pile_up_leave_as_one_batch() -> None:
    """While the first batch is on its way, everything else is gathered into the second."""
    peer = SlowPeer()
    link = WorkerLink(peer, ["a"], Outbox())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.pump)
        link.lease(trial(0))
        link.flush()
        await anyio.sleep(0.5)
        for number in range(3):
            link.go(number)
            link.flush()
        link.lease(trial(1))
        link.close(9)
        link.flush()
        await anyio.sleep(5)
        tasks.cancel_scope.cancel()
    assert peer.batches == [WorkerOrders([trial(0)], [], []), WorkerOrders([trial(1)], [0, 1, 2], [9])]


@pytest.mark.anyio
async def test_permits_travel_only_when_they_change() -> None:
    """The same permits are said once; a batch without news of them leaves them as they are."""
    peer = SlowPeer()
    link = WorkerLink(peer, ["a"], Outbox())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.pump)
        for permits in ({"a": 2}, {"a": 2}, {"a": 3}):
            link.allow(permits)
            link.flush()
            await anyio.sleep(2)
        link.go(1)
        link.flush()
        await anyio.sleep(2)
        tasks.cancel_scope.cancel()
    assert [batch.permits for batch in peer.batches] == [{"a": 2}, {"a": 3}, None]


@pytest.mark.anyio
async def test_nothing_is_sent_where_there_is_nothing_to_say() -> None:
    """Flushing an empty link sends no batch, and a halt is sent once."""
    worker, oracle = SlowPeer(), SlowPeer()
    links = WorkerLink(worker, ["a"], Outbox()), OracleLink(oracle, Outbox())
    async with anyio.create_task_group() as tasks:
        for link in links:
            tasks.start_soon(link.pump)
            link.flush()
        await anyio.sleep(5)
        assert worker.batches == oracle.batches == []
        links[0].halt()
        for _ in range(2):
            links[0].flush()
            await anyio.sleep(2)
        tasks.cancel_scope.cancel()
    assert worker.batches == [WorkerOrders([], [], [], None, True)]


@pytest.mark.anyio
async def test_an_oracles_orders_travel_the_same_way() -> None:
    """Readings and what may be forgotten leave together."""
    peer = SlowPeer()
    link = OracleLink(peer, Outbox())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(link.pump)
        link.read_after(ReadAfter(1, 1, {}))
        link.flush()
        await anyio.sleep(0.5)
        link.forget(1)
        link.read_after(ReadAfter(2, 1, {}))
        link.flush()
        await anyio.sleep(5)
        tasks.cancel_scope.cancel()
    assert peer.batches == [
        OracleOrders([], [ReadAfter(1, 1, {})], []),
        OracleOrders([], [ReadAfter(2, 1, {})], [1]),
    ]


@pytest.mark.anyio
async def test_a_peer_that_is_gone_ends_the_pump() -> None:
    """The error comes out of the pump, so that whoever runs it hears of it."""
    for link in (WorkerLink(peer := SlowPeer(), ["a"], Outbox()), OracleLink(peer, Outbox())):
        peer.error = PeerLost("slow", "gone")
        if isinstance(link, WorkerLink):
            link.halt()
        else:
            link.forget(1)
        link.flush()
        with pytest.raises(PeerLost, match="slow is lost: gone"):
            await link.pump()
