"""Workers and oracles behind Ray, as the driver sees them; Ray's errors become ours here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any

import orjson

from orchestrator.engine.ray_errors import Place, first_line, place_of
from spec.errors import InputError, OrchestratorError, PeerLost, RunIncomplete
from spec.messages import OracleEvent, OracleOrders, WorkerEvent, WorkerOrders
from spec.wire import decode_events
from spec.wire_orders import decode_oracle_events, encode_oracle_orders, encode_worker_orders


class RayWorkerPeer:
    """A worker behind Ray.

    Attributes:
        left: whether it serves no more, or nobody listens to it: it was given up.
    """

    def __init__(self, name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
        self.name = name
        self.actor = actor
        self.left = False

    async def post(self, orders: WorkerOrders) -> None:
        """Hand orders over."""
        await call(self.name, self.actor.post.remote(encode_worker_orders(orders)))

    async def events(self) -> AsyncIterator[Sequence[WorkerEvent]]:
        """Its events in batches."""
        try:
            async for data in _stream(self.name, self.actor):
                yield decode_events(data)
        finally:
            self.left = True

    async def about(self) -> dict[str, Any]:
        """Where it is and what it imports: node, host, code."""
        return await _about(self.name, self.actor)

    async def ping(self) -> float:
        """A sign of life: the seconds since its own loop last moved."""
        held_up_s: float = await call(self.name, self.actor.ping.remote())
        return held_up_s


class RayOraclePeer:
    """An oracle behind Ray.

    Attributes:
        left: whether it serves no more.
    """

    def __init__(self, name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
        self.name = name
        self.actor = actor
        self.left = False

    async def post(self, orders: OracleOrders) -> None:
        """Hand orders over."""
        await call(self.name, self.actor.post.remote(encode_oracle_orders(orders)))

    async def events(self) -> AsyncIterator[Sequence[OracleEvent]]:
        """Its events in batches."""
        async for data in _stream(self.name, self.actor):
            yield decode_oracle_events(data)

    async def about(self) -> dict[str, Any]:
        """Where it is and what it imports: node, host, code."""
        return await _about(self.name, self.actor)

    async def ping(self) -> float:
        """A sign of life: the seconds since its own loop last moved."""
        held_up_s: float = await call(self.name, self.actor.ping.remote())
        return held_up_s


async def call(name: str, reference: Awaitable[object]) -> Any:  # noqa: ANN401 - what the actor answers
    """What a call to a peer answers.

    Args:
        name: the peer's name.
        reference: the call, under way.

    Raises:
        PeerLost: it is gone, or out of reach; whether the call ran is unknown.
        OrchestratorError: any other error of Ray, in its place.
    """
    try:
        return await reference
    except Exception as error:
        raise _lost(name, error) from error


async def _about(name: str, actor: Any) -> dict[str, Any]:  # noqa: ANN401 - Ray's handles have no type
    told: dict[str, Any] = orjson.loads(await call(name, actor.about.remote()))
    return told


async def _stream(name: str, actor: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - Ray's handles have no type
    try:
        async for reference in actor.events.options(num_returns="streaming").remote():
            yield await reference
    except Exception as error:
        raise _lost(name, error) from error
    raise PeerLost(name, "its stream of events ended")


def _lost(name: str, error: Exception) -> Exception:
    place = place_of(error)
    if place is None:
        return error
    if place is Place.PEER_LOST:
        return PeerLost(name, first_line(error))
    return error_of(place, first_line(error))


def error_of(place: Place, text: str) -> Exception:
    """The error that says what an error of Ray means for the run."""
    if place is Place.SET_UP:
        return InputError(f"Ray could not set the run up: {text}")
    if place is Place.OUR_FAULT:
        return OrchestratorError(f"an internal error at the Ray border: {text}")
    return RunIncomplete(f"the Ray cluster was lost ({place.value}): {text}. `resume` goes on with what is owed")
