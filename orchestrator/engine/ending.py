"""How a run is brought to its end before everything is done: drained, cancelled, or stopped at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from orchestrator.engine.active import Phase
from orchestrator.engine.committer import Committer
from orchestrator.engine.rules import Rules
from orchestrator.engine.trials import Trials
from spec.clock import Clock
from spec.messages import Cause

LOOK_S: Final = 1.0
"""How often a drain looks at how long it may take."""

CANCELLED_AT_ONCE: Final = 10_000
"""Owed trials that are cancelled with one commit, when the rest of a run is."""


class Ending:
    """Ends a run; see the module.

    Args:
        trials: what is on its way.
        committer: where every line goes.
        rules: how long a drain may take.
        clock: where time comes from.
        seed: ordinal -> the trial's seed.

    Attributes:
        over: set when the run is over.
    """

    def __init__(
        self, trials: Trials, committer: Committer, *, rules: Rules, clock: Clock, seed: Callable[[int], int]
    ) -> None:
        self._trials, self._committer, self._rules, self._clock, self._seed = trials, committer, rules, clock, seed
        self.over = anyio.Event()
        self._rest_is_cancelled = anyio.Event()

    def look(self) -> None:
        """See whether the run is over."""
        trials = self._trials
        drained = trials.draining and (not trials.cancelling or self._rest_is_cancelled.is_set())
        if not trials.active and (drained or trials.ledger.owed() == 0):
            self.over.set()

    def begin_drain(self) -> None:
        """Repeat nothing more, and let go of what has not run."""
        self._trials.draining = True
        for active in [a for a in self._trials.active.values() if a.phase in (Phase.OPENING, Phase.BASELINE)]:
            self._trials.release(active)

    def begin_cancel(self) -> None:
        """Break off what runs; what is being read may still end."""
        self._trials.cancelling = True
        self._count_as_stopped(Phase.RUNNING)

    def _count_as_stopped(self, *phases: Phase) -> None:
        for active in [a for a in self._trials.active.values() if a.phase in phases]:
            if active.phase is Phase.RUNNING:
                self._trials.end_arm(active)
            self._trials.count_apart(active, Cause.STOPPED, f"the run was stopped while it was {active.phase.value}")

    async def drain(self) -> None:
        """Give what runs its time; then the run is over, and what has not ended is owed, or cancelled if asked."""
        began = self._clock.monotonic()
        while (left_s := began + self._rules.drain_s - self._clock.monotonic()) > 0:
            await self._clock.sleep(min(left_s, LOOK_S))  # drain_s may be set anew meanwhile
        if self._trials.cancelling:
            await self._rest_is_cancelled.wait()
            self._count_as_stopped(Phase.READING)
        self.over.set()

    async def cancel(self) -> None:
        """Cancel what is owed and not on its way, in commits of bounded size."""
        ledger = self._trials.ledger
        owed = [place for place in range(len(ledger.plan)) if ledger.is_owed(place)]
        for first in range(0, len(owed), CANCELLED_AT_ONCE):
            for ordinal in owed[first : first + CANCELLED_AT_ONCE]:
                if ordinal not in self._trials.active and ledger.is_owed(ordinal):
                    self._trials.cancel_owed(ordinal, self._seed(ordinal))
            await self._committer.flush()
        self._rest_is_cancelled.set()
        self.look()
