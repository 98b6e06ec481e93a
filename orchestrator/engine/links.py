"""The driver's end of a hop: orders pile up while the last batch is on its way, and leave together.

A link that has something to send puts itself into the outbox that all links share, so that sending costs what there is
to say and not how many peers there are.
"""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from orchestrator.engine.peers import OraclePeer, WorkerPeer
from spec.messages import OracleOrders, ReadAfter, ReadBefore, WorkerOrders
from spec.trial import Trial


class Outbox:
    """The links that have something to send."""

    def __init__(self) -> None:
        self._links: list[Link] = []

    def put(self, link: Link) -> None:
        """A link has something to send."""
        self._links.append(link)

    def flush(self) -> None:
        """Send everything that has piled up, link by link as soon as its last batch has arrived."""
        links, self._links = self._links, []
        for link in links:
            link.flush()


class Link:
    """What both kinds of links have in common: when they send.

    Attributes:
        heard_at: when the peer was last heard of, seconds of the monotonic clock.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._queued = False
        self._pending = anyio.Event()
        self.heard_at = 0.0

    def changed(self) -> None:
        """There is something to send."""
        if not self._queued:
            self._queued = True
            self._outbox.put(self)

    def flush(self) -> None:
        """Let the pump send."""
        self._queued = False
        self._pending.set()

    async def _next(self) -> None:
        await self._pending.wait()
        self._pending = anyio.Event()


class WorkerLink(Link):
    """Orders for one worker's place; who fills it may change.

    Attributes:
        peer: who fills it now.
        filled: False from a loss until somebody else is there.
        permits: arm -> how many trials of it may run here.
        open_trials: arm -> trials leased here whose arms have not ended.
        held: trials leased here that are not committed.
        does_well: whether the last arm or attempt that ended here was an arm that was done.
        failures_in_a_row: attempts that failed here with no arm done in between.
        replaced_sick: whether it was filled anew because of such failures, and no arm was done since.
    """

    def __init__(self, peer: WorkerPeer, arms: list[str], outbox: Outbox) -> None:
        super().__init__(outbox)
        self.peer = peer
        self.filled = True
        self.open_trials = dict.fromkeys(arms, 0)
        self.held = 0
        self.does_well = False
        self.failures_in_a_row = 0
        self.replaced_sick = False
        self._bounds = dict.fromkeys(arms, 0)
        self._settles = 0
        self._forget_orders()

    def _forget_orders(self) -> None:
        self._lease: list[Trial] = []
        self._go: list[int] = []
        self._close: list[int] = []
        self.permits: Mapping[str, int] = {}
        self._permits_changed = False
        self._halt = False
        self._settle = 0

    def lose(self) -> None:
        """Forget what was for a worker that is gone."""
        self.filled = self.does_well = False
        self.failures_in_a_row = 0
        self._bounds = dict.fromkeys(self._bounds, 0)
        self._forget_orders()

    def fill(self, peer: WorkerPeer) -> None:
        """Put somebody else into the place."""
        self.peer, self.filled = peer, True

    def lease(self, trial: Trial) -> None:
        """Open a fixture for a trial there."""
        self._lease.append(trial)
        self.changed()

    def go(self, ordinal: int) -> None:
        """Let a trial's arm run."""
        self._go.append(ordinal)
        self.changed()

    def close(self, ordinal: int) -> None:
        """Close a trial's fixture."""
        self._close.append(ordinal)
        self.changed()

    def allow(self, permits: Mapping[str, int]) -> bool:
        """Say how many trials of each arm may run there, if that is new; whether it is."""
        if permits == self.permits:
            return False
        self._bounds = {arm: max(bound, permits[arm]) for arm, bound in self._bounds.items()}
        if self._bounds != permits:
            self._settles += 1
            self._settle = self._settles
        self.permits, self._permits_changed = permits, True
        self.changed()
        return True

    def settled(self, settle: int) -> None:
        """No more arms run there than an earlier order to settle permitted."""
        if settle == self._settles:
            self._bounds = dict(self.permits)

    def may_run(self, arm: str) -> int:
        """How many trials of an arm can be running there: where permits have fallen, more than are permitted."""
        return min(self.open_trials[arm], self._bounds[arm])

    def attempt_ended(self, *, well: bool) -> None:
        """An arm was done here, or an attempt failed that was not the arm's."""
        self.does_well = well
        self.failures_in_a_row = 0 if well else self.failures_in_a_row + 1
        self.replaced_sick = self.replaced_sick and not well

    def halt(self) -> None:
        """Start nothing more there."""
        self._halt = True
        self.changed()

    async def pump(self) -> None:
        """Send batches until cancelled.

        Raises:
            PeerLost: the worker is gone.
        """
        while True:
            await self._next()
            if self._lease or self._go or self._close or self._permits_changed or self._halt:
                await self.peer.post(self._take())

    def _take(self) -> WorkerOrders:
        permits = self.permits if self._permits_changed else None
        orders = WorkerOrders(self._lease, self._go, self._close, permits, self._halt, self._settle)
        self._lease, self._go, self._close, self._permits_changed, self._halt = [], [], [], False, False
        self._settle = 0
        return orders


class OracleLink(Link):
    """Orders for one oracle's place; who fills it may change.

    Attributes:
        peer: who fills it now.
        generation: how many have filled it before; a baseline that an earlier one read is gone with it.
    """

    def __init__(self, peer: OraclePeer, outbox: Outbox) -> None:
        super().__init__(outbox)
        self.peer = peer
        self.generation = 0
        self._forget_orders()

    def _forget_orders(self) -> None:
        self._before: list[ReadBefore] = []
        self._after: list[ReadAfter] = []
        self._forget: list[int] = []

    def lose(self) -> None:
        """Forget what was for an oracle that is gone; what comes now waits for the next one."""
        self.generation += 1
        self._forget_orders()

    def fill(self, peer: OraclePeer) -> None:
        """Put somebody else into the place."""
        self.peer = peer
        self.changed()

    def read_before(self, request: ReadBefore) -> None:
        """Read a baseline."""
        self._before.append(request)
        self.changed()

    def read_after(self, request: ReadAfter) -> None:
        """Read a record after its arm, and judge it."""
        self._after.append(request)
        self.changed()

    def forget(self, ordinal: int) -> None:
        """A trial's baseline is no longer needed."""
        self._forget.append(ordinal)
        self.changed()

    async def pump(self) -> None:
        """Send batches until cancelled.

        Raises:
            PeerLost: the oracle is gone.
        """
        while True:
            await self._next()
            if self._before or self._after or self._forget:
                orders = OracleOrders(self._before, self._after, self._forget)
                self._forget_orders()
                await self.peer.post(orders)
