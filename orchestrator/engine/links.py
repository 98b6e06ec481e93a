"""The driver's end of a hop: orders pile up while the last batch is on its way, and leave together."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from orchestrator.engine.peers import OraclePeer, WorkerPeer
from spec.messages import OracleOrders, ReadAfter, ReadBefore, WorkerOrders
from spec.trial import Trial


class WorkerLink:
    """Orders for one worker's place; who fills it may change.

    Attributes:
        peer: who fills it now.
        filled: False from a loss until somebody else is there.
        open_trials: arm -> trials leased here whose arms have not ended.
    """

    def __init__(self, peer: WorkerPeer, arms: list[str]) -> None:
        self.peer = peer
        self.filled = True
        self.open_trials = dict.fromkeys(arms, 0)
        self.lease: list[Trial] = []
        self.go: list[int] = []
        self.close: list[int] = []
        self._permits: Mapping[str, int] = {}
        self._permits_changed = False
        self._halt = False
        self._pending = anyio.Event()

    def lose(self) -> None:
        """Forget what was for a worker that is gone."""
        self.filled = False
        self.lease, self.go, self.close, self._permits, self._halt = [], [], [], {}, False

    def fill(self, peer: WorkerPeer) -> None:
        """Put somebody else into the place."""
        self.peer, self.filled = peer, True

    def allow(self, permits: Mapping[str, int]) -> None:
        """Say how many trials of each arm may run there, if that is new."""
        if permits != self._permits:
            self._permits, self._permits_changed = permits, True

    def halt(self) -> None:
        """Start nothing more there."""
        self._halt = True

    def flush(self) -> None:
        """Send what has piled up, as soon as the last batch has arrived."""
        if self.lease or self.go or self.close or self._permits_changed or self._halt:
            self._pending.set()

    async def pump(self) -> None:
        """Send batches until cancelled.

        Raises:
            PeerLost: the worker is gone.
        """
        while True:
            await self._pending.wait()
            self._pending = anyio.Event()
            await self.peer.post(self._take())

    def _take(self) -> WorkerOrders:
        permits = self._permits if self._permits_changed else None
        orders = WorkerOrders(self.lease, self.go, self.close, permits, self._halt)
        self.lease, self.go, self.close, self._permits_changed, self._halt = [], [], [], False, False
        return orders


class OracleLink:
    """Orders for one oracle's place; who fills it may change.

    Attributes:
        peer: who fills it now.
        generation: how many have filled it before; a baseline that an earlier one read is gone with it.
    """

    def __init__(self, peer: OraclePeer) -> None:
        self.peer = peer
        self.generation = 0
        self.before: list[ReadBefore] = []
        self.after: list[ReadAfter] = []
        self.forget: list[int] = []
        self._pending = anyio.Event()

    def lose(self) -> None:
        """Forget what was for an oracle that is gone; what comes now waits for the next one."""
        self.generation += 1
        self.before, self.after, self.forget = [], [], []

    def fill(self, peer: OraclePeer) -> None:
        """Put somebody else into the place."""
        self.peer = peer

    def flush(self) -> None:
        """Send what has piled up, as soon as the last batch has arrived."""
        if self.before or self.after or self.forget:
            self._pending.set()

    async def pump(self) -> None:
        """Send batches until cancelled.

        Raises:
            PeerLost: the oracle is gone.
        """
        while True:
            await self._pending.wait()
            self._pending = anyio.Event()
            orders = OracleOrders(self.before, self.after, self.forget)
            self.before, self.after, self.forget = [], [], []
            await self.peer.post(orders)
