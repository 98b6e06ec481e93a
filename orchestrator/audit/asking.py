"""The oracle of a run, asked about one trial at a time: the same service, with the same messages as from a driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import anyio

from oracle.base import ChannelContext, ReadFailed
from oracle.hosting import OracleSetup, build_oracle, open_channel
from oracle.service import OracleService
from orchestrator.engine.fixtures import FixtureShelf
from spec.clock import Clock
from spec.messages import Judged, OracleOrders, ReadAfter, ReadBefore, Ready, Unread
from spec.reading import ReadPath, Tables

Answer = Ready | Judged | Unread


class _Place(NamedTuple):
    """Where the answer to a question is put."""

    there: anyio.Event
    answers: list[Answer]


class AskedOracle:
    """An oracle with the channels and the judging of a run; somebody runs its ``serve``.

    Args:
        setup: what the oracles of the run are built from.
        shelf: the fixtures in memory that it may read.
        clock: where time comes from.
    """

    def __init__(self, setup: OracleSetup, shelf: FixtureShelf, clock: Clock) -> None:
        async def fetch(_: str, places: Sequence[int]) -> bytes:
            return shelf.snapshot(places)

        self._service: OracleService = build_oracle(setup, fetch, clock)
        self._context = ChannelContext(fetch, clock, setup.credentials.values)
        self._waiting: dict[int, _Place] = {}

    async def serve(self) -> None:
        """Work until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._service.serve)
            while events := await self._service.events():
                for event in events:
                    place = self._waiting.pop(event.ordinal, None)
                    if place is not None:
                        place.answers.append(event)
                        place.there.set()

    async def before(self, request: ReadBefore) -> Answer:
        """Let it read and keep the baseline."""
        return await self._ask(request.ordinal, OracleOrders(before=[request]))

    async def after(self, request: ReadAfter) -> Answer:
        """Let it read what is there after the attack, and judge."""
        return await self._ask(request.ordinal, OracleOrders(after=[request]))

    def forget(self, ordinal: int) -> None:
        """A trial is over."""
        self._waiting.pop(ordinal, None)
        self._service.post(OracleOrders(forget=[ordinal]))

    async def look(self, path: ReadPath) -> Tables | ReadFailed:
        """The record as its channel reads it, without any judging."""
        channel = open_channel(path.channel, self._context)
        if channel is None:
            return ReadFailed(f"no channel is called {path.channel!r}")
        try:
            return (await channel.read([path]))[0]
        finally:
            await channel.close()

    async def _ask(self, ordinal: int, orders: OracleOrders) -> Answer:
        place = self._waiting[ordinal] = _Place(anyio.Event(), [])
        self._service.post(orders)
        await place.there.wait()
        return place.answers[0]
