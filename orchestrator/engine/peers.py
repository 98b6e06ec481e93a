"""What the driver talks to: workers and oracles, here or behind Ray, with the same three verbs."""

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
