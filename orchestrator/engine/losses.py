"""Keeps the places of workers and oracles filled: notices that one is lost, repeats what it had, has another one come.

A peer is lost when a call to it breaks, when it gives no sign of life, when an arm holds up its loop for longer than
any arm may run, or when it has been silent for longer than what it was asked can take. A worker in which one attempt
after the other fails, while others work, is given up as well. In any case its trials are repeated, and nothing is
concluded about an arm, with one exception: an arm that has died alone with its worker twice has killed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final

import anyio

from orchestrator.engine.active import ASKED, HELD, Active, Phase
from orchestrator.engine.committer import Entry
from orchestrator.engine.links import OracleLink, WorkerLink
from orchestrator.engine.peers import Crew
from orchestrator.engine.rules import Rules
from orchestrator.engine.trials import Trials
from orchestrator.journal import LineType
from spec.clock import Clock
from spec.errors import PeerLost, RunIncomplete
from spec.groups import leaves
from spec.messages import Cause

LIFE_SIGN_S: Final = 6.0
"""How long a peer may take to answer a ping."""

HOLD_UP_S: Final = 1.0
"""How much longer than its deadline an arm may hold up its worker's loop."""

SILENCE_S: Final = 30.0
"""How much longer than what it was asked can take a peer may say nothing at all."""

PINGS_PER_S_MAX: Final = 1000
"""Signs of life asked for in a second, of all peers together: beyond some thousand peers they are asked less often."""

DEATHS_ALONE_MAX: Final = 2
IN_PROCESS: Final = "in-process"

Hear = Callable[[], Coroutine[Any, Any, None]]


class Losses:
    """Fills places anew; see the module.

    Args:
        trials: what is on its way.
        rules: what to go by.
        clock: where time comes from.
        notice: told in one line what a person should know.
        killed: called with a trial that died alone with its worker once too often, and how, where its record can still
            be read.
        move_on: called when a place is filled again.
    """

    def __init__(
        self,
        trials: Trials,
        *,
        rules: Rules,
        clock: Clock,
        notice: Callable[[str], None],
        killed: Callable[[Active, str], None],
        move_on: Callable[[], None],
    ) -> None:
        self._trials, self._rules, self._clock = trials, rules, clock
        self._notice, self._killed, self._move_on = notice, killed, move_on
        self._deaths_alone: Counter[int] = Counter()
        self._lost_nodes: set[str] = set()

    async def keep_worker(self, link: WorkerLink, crew: Crew, hear: Hear) -> None:
        """Keep a worker's place filled until cancelled; ``hear`` listens to whoever fills it."""
        while True:
            link.heard_at = self._clock.monotonic()
            loss = await until_lost(link.pump, hear, partial(self._watch_worker, link))
            self._trials.leasing.leave(link)
            node = await crew.lost_with(link.peer.name)
            link.lose()
            self._on_worker_lost(link, loss, node)
            link.replaced_sick = loss.sick
            self._move_on()
            if self._trials.draining:
                return
            link.fill(await crew.another_worker(link.peer))
            self._trials.leasing.join(link)
            self._move_on()

    async def keep_oracle(self, link: OracleLink, crew: Crew, hear: Hear) -> None:
        """Keep an oracle's place filled until cancelled; a reading that was under way is no reading."""
        while True:
            link.heard_at = self._clock.monotonic()
            loss = await until_lost(link.pump, hear, partial(self._watch_oracle, link))
            node = await crew.lost_with(link.peer.name)
            link.lose()
            asked = self._asked(link)
            for active in asked:
                if active.phase is Phase.BASELINE:
                    self._trials.end_arm(active)
            self._count(loss, len(asked), node)
            for active in asked:
                self._trials.failed(active, Cause.ORACLE_LOST, str(loss))
            if self._trials.draining:
                self._move_on()
                return
            link.fill(await crew.another_oracle(link.peer))
            self._move_on()

    def _asked(self, link: OracleLink) -> list[Active]:
        active_trials = self._trials.active.values()
        return [active for active in active_trials if active.oracle is link and active.phase in ASKED]

    def _on_worker_lost(self, link: WorkerLink, loss: PeerLost, node: str) -> None:
        held = [active for active in self._trials.of_worker(link) if active.phase in HELD]
        for active in held:
            self._trials.end_arm(active)
        if loss.sick:
            self._count(loss, len(held), node)
            self._trials.failed_blameless(held, str(loss), apart=False)
            return
        in_it = [] if node else [active for active in held if self._ran_in_it(active)]
        if in_it:
            self._tell(loss, len(held))
        else:  # nobody's arm did it
            self._count(loss, len(held), node)
        beside = [active for active in held if active not in in_it]
        if in_it:
            self._trials.failed_blameless(beside, str(loss), apart=False)
        else:
            for active in beside:
                self._trials.failed(active, Cause.WORKER_LOST, str(loss))
        if len(held) == len(in_it) == 1:
            self._died_alone(in_it[0], loss)
        elif in_it:
            self._trials.failed_blameless(in_it, str(loss), apart=True)

    def _ran_in_it(self, active: Active) -> bool:
        return active.phase is Phase.RUNNING and self._rules.isolation[active.trial.arm] == IN_PROCESS

    def _died_alone(self, active: Active, loss: PeerLost) -> None:
        ordinal = active.trial.ordinal
        self._deaths_alone[ordinal] += 1
        if self._deaths_alone[ordinal] < DEATHS_ALONE_MAX:
            self._trials.failed(active, Cause.WORKER_LOST, str(loss), alone=True)
        elif active.outlives:
            self._killed(active, str(loss))
        else:
            detail = f"{loss}; the arm ran there alone, for the {self._deaths_alone[ordinal]}. time, and its record too"
            self._trials.count_apart(active, Cause.KILLED_WORKER, detail)

    def _count(self, loss: PeerLost, hit: int, node: str) -> None:
        """Note a loss; too many in a row, with no trial ended in between, end the run.

        Args:
            loss: who was lost, and how.
            hit: how many trials it hits.
            node: the node that went down, or ""; all that were on it are one loss.

        Raises:
            RunIncomplete: this was one too many.
        """
        self._trials.losses += not node or node not in self._lost_nodes
        self._lost_nodes.add(node)
        if self._trials.losses > self._rules.losses_max and not self._trials.draining:
            raise RunIncomplete(
                f"{self._trials.losses} workers and oracles were lost with no row in between; the last: {loss}"
            )
        self._tell(loss, hit)

    def _tell(self, loss: PeerLost, hit: int) -> None:
        text = f"{loss}; {hit} trials are repeated"
        self._notice(text)
        self._trials.committer.add(Entry(LineType.NOTE, None, {"text": text}))

    # What is no sign of life

    def check_health(self, link: WorkerLink, workers: Sequence[WorkerLink]) -> None:
        """Give up a worker in which too many attempts in a row failed while others work; once, until an arm is done.

        Raises:
            PeerLost: it is given up.
        """
        most = self._rules.losses_max
        if not most or link.failures_in_a_row < most or link.replaced_sick:
            return
        if any(other.does_well for other in workers if other is not link):
            raise PeerLost(link.peer.name, f"{link.failures_in_a_row} attempts in a row failed there", sick=True)

    async def _watch_worker(self, link: WorkerLink) -> None:
        while True:
            await self._clock.sleep(max(self._rules.heartbeat_s, self._trials.leasing.places / PINGS_PER_S_MAX))
            held_up_s = await self._sign_of_life(link)
            trials = self._trials.of_worker(link)
            deadlines_s = [self._rules.deadlines_s[active.trial.arm] for active in trials if _is_at_work(active)]
            if deadlines_s and held_up_s > max(deadlines_s) + HOLD_UP_S:
                raise PeerLost(link.peer.name, f"an arm has held it up for {held_up_s:.0f} s")
            if deadlines_s:
                self._check_silence(link, max(*deadlines_s, self._rules.open_s))
            else:
                link.heard_at = self._clock.monotonic()

    async def _watch_oracle(self, link: OracleLink) -> None:
        while True:
            await self._clock.sleep(self._rules.heartbeat_s)
            await self._sign_of_life(link)
            if self._asked(link):
                self._check_silence(link, max(self._rules.baseline_s, self._rules.read_s))
            else:
                link.heard_at = self._clock.monotonic()

    async def _sign_of_life(self, link: WorkerLink | OracleLink) -> float:
        held_up_s = None
        with anyio.move_on_after(LIFE_SIGN_S):
            held_up_s = await link.peer.ping()
        if held_up_s is None:
            raise PeerLost(link.peer.name, f"no sign of life within {LIFE_SIGN_S:g} s")
        return held_up_s

    def _check_silence(self, link: WorkerLink | OracleLink, longest_s: float) -> None:
        silent_s = self._clock.monotonic() - link.heard_at
        if silent_s > longest_s + SILENCE_S:
            raise PeerLost(link.peer.name, f"it has said nothing for {silent_s:.0f} s; {longest_s:g} s are allowed")


def _is_at_work(active: Active) -> bool:
    """Whether a worker has something to do for a trial, and not only to wait for a free slot."""
    runs = active.phase is Phase.RUNNING and active.link.may_run(active.trial.arm) > 0
    return runs or active.phase is Phase.OPENING


async def until_lost(*services: Callable[[], Coroutine[Any, Any, None]]) -> PeerLost:
    """Run what serves a peer until one of it finds the peer lost; how it was lost."""
    lost: list[PeerLost] = []
    try:
        async with anyio.create_task_group() as tasks:
            for service in services:
                tasks.start_soon(service)
    except* PeerLost as group:
        lost += [error for error in leaves(group) if isinstance(error, PeerLost)]
    return lost[0]
