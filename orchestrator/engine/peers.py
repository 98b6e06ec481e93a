"""What the driver talks to: workers and oracles, here or behind Ray, and the crew that has others for lost ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from spec.messages import OracleEvent, OracleOrders, WorkerEvent, WorkerOrders


class WorkerPeer(Protocol):
    """A worker as the driver sees it."""

    @property
    def name(self) -> str:
        """The worker's name, as in its read paths."""

    async def post(self, orders: WorkerOrders) -> None:
        """Hand orders over.

        Raises:
            PeerLost: it is gone.
        """

    def events(self) -> AsyncIterator[Sequence[WorkerEvent]]:
        """Its events in batches, until it is gone (``PeerLost``) or the caller stops."""

    async def ping(self) -> float:
        """A sign of life: the seconds since its own loop last moved, which is more than 0 where an arm holds it up.

        Raises:
            PeerLost: it is gone.
        """


class OraclePeer(Protocol):
    """An oracle as the driver sees it."""

    @property
    def name(self) -> str:
        """The oracle's name, for messages."""

    async def post(self, orders: OracleOrders) -> None:
        """Hand orders over.

        Raises:
            PeerLost: it is gone.
        """

    def events(self) -> AsyncIterator[Sequence[OracleEvent]]:
        """Its events in batches, until it is gone (``PeerLost``) or the caller stops."""

    async def ping(self) -> float:
        """A sign of life: the seconds since its own loop last moved.

        Raises:
            PeerLost: it is gone.
        """


class Crew(Protocol):
    """The workers and oracles of a run."""

    @property
    def workers(self) -> Sequence[WorkerPeer]:
        """Those that stood at the start."""

    @property
    def oracles(self) -> Sequence[OraclePeer]:
        """Those that stood at the start."""

    async def another_worker(self, lost: WorkerPeer) -> WorkerPeer:
        """A fresh worker, for the place of a lost one, which is ended where it still lives.

        Raises:
            RunIncomplete: none can be had.
        """

    async def another_oracle(self, lost: OraclePeer) -> OraclePeer:
        """A fresh oracle, for the place of a lost one, which is ended where it still lives.

        Raises:
            RunIncomplete: none can be had.
        """

    async def joined(self) -> WorkerPeer:
        """One more worker, as soon as a node has come that has room for one; waits as long as that takes.

        Called again and again while a run works; a crew to which nobody can come never returns.

        Raises:
            RunIncomplete: what carries the crew is gone.
        """

    async def lost_with(self, name: str) -> str:
        """What a lost peer was lost together with: the name of the node that went down, or "" where that lives.

        All peers of one node are one loss, however many they are.

        Args:
            name: the peer's.
        """

    async def watch(self) -> None:
        """Watch what carries the crew, until cancelled.

        Raises:
            RunIncomplete: it is gone, and nobody can be replaced.
        """
