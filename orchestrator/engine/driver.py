"""The driver: leases trials, passes on what workers and oracles say, and commits rows. One task group, one writer.

A trial's way, in the numbers of docs/design/engine.md: lease, Opened -> read before, Ready -> go, Finished -> read
after, Judged -> commit, close. Every handler below is a plain function that never waits; what it wants sent piles up
in the links and leaves in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, assert_never

import anyio
from anyio.abc import TaskGroup

from oracle.base import Judgement
from orchestrator.engine.active import Active, Phase
from orchestrator.engine.committer import Committer, Entry
from orchestrator.engine.ending import Ending
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.links import OracleLink, Outbox, WorkerLink
from orchestrator.engine.losses import Losses
from orchestrator.engine.peers import Crew, WorkerPeer
from orchestrator.engine.rules import Rules
from orchestrator.engine.stalls import Stalls
from orchestrator.engine.trials import Trials
from orchestrator.engine.view import RunView
from orchestrator.journal import Journal, LineType
from orchestrator.kinds.base import DriverSide, Execution
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.errors import PeerLost
from spec.messages import (
    Cause,
    Failed,
    Finished,
    Judged,
    Noted,
    Opened,
    OracleEvent,
    ReadAfter,
    ReadBefore,
    Ready,
    Returned,
    Settled,
    Unread,
    WorkerEvent,
)
from spec.reading import ChannelName
from spec.report import ArmFault
from spec.text import describe
from spec.trial import Payload, Trial, trial_key

RULES_KEYS: Final = {
    "run.drain_s": ("drain_s", 1.0),
    "limits.stall_report_s": ("stall_report_s", 1.0),
    "limits.heartbeat_s": ("heartbeat_s", 1.0),
    "limits.group_commit_ms": ("group_commit_s", 0.001),
}
"""Key of the configuration -> name and unit of a rule, for those that may change while a run works."""


class _Drawn(NamedTuple):
    payload: Payload
    problem: str


class Driver:
    """Runs what is owed; see the module.

    Args:
        plan: the trials of the run.
        ledger: how they stand; kept up to date.
        leasing: which go out next.
        journal: where every line goes.
        side: the kind's driver side.
        not_reported: the report that stands for an arm that broke the rules, as the kind's worker side makes it.
        payload: (task place, trial) -> payload.
        trial_digest: (ordinal, seed) -> content digest of the trial.
        rules: what to go by.
        clock: where time comes from.
        notice: told in one line what a person should know.
        leases: how many leases the journal has already.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        ledger: Ledger,
        leasing: Leasing,
        journal: Journal,
        side: DriverSide,
        not_reported: Callable[[ArmFault, str], JsonObject],
        payload: Callable[[int, int], Payload],
        trial_digest: Callable[[int, int], str],
        rules: Rules,
        clock: Clock,
        notice: Callable[[str], None],
        leases: int = 0,
    ) -> None:
        self._plan, self.ledger, self.leasing, self._side = plan, ledger, leasing, side
        self._not_reported, self._payload, self.rules, self._clock = not_reported, payload, rules, clock
        self._committer = Committer(
            journal, group_commit_s=lambda: rules.group_commit_s, clock=clock, acknowledged=self.move_on
        )
        self.trials = Trials(
            plan=plan,
            ledger=ledger,
            leasing=leasing,
            committer=self._committer,
            trial_digest=trial_digest,
            rules=rules,
            clock=clock,
        )
        self._losses = Losses(
            self.trials, rules=rules, clock=clock, notice=notice, killed=self._on_killed, move_on=self.move_on
        )
        self._ending = Ending(
            self.trials,
            self._committer,
            rules=rules,
            clock=clock,
            seed=lambda ordinal: self._drawn(ordinal).payload.seed,
        )
        self._stalls = Stalls(self.trials, rules=rules, clock=clock, notice=notice, move_on=self.move_on)
        self.labels: dict[str, Counter[str]] = {arm: Counter() for arm in plan.arms}
        self._outbox = Outbox()
        self._workers: list[WorkerLink] = []
        self._oracles: list[OracleLink] = []
        self._leased: dict[tuple[str, int], list[str]] = {}
        self._leases = leases
        self._tasks: TaskGroup | None = None

    # The run loop

    async def run(self, crew: Crew) -> None:
        """Work until nothing is owed, or until drained, cancelled or stopped.

        Raises:
            RunIncomplete: what carries the crew is gone, or its members are lost one after the other.
            JournalUnwritable: a row could not be made durable.
        """
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self.trials.open(tasks, self.move_on)
                tasks.start_soon(self._committer.serve)
                tasks.start_soon(crew.watch)
                tasks.start_soon(self._stalls.watch)
                self._take_on(crew, tasks)
                self.move_on()
                await self._ending.over.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._tasks = None
            self.trials.close()
            self._ending.over.set()
            await self._committer.flush()  # shielded; what was judged is kept however this ended

    def _take_on(self, crew: Crew, tasks: TaskGroup) -> None:
        """Give each member of the crew a place that is kept filled."""
        for oracle in [OracleLink(peer, self._outbox) for peer in crew.oracles]:
            self._oracles.append(oracle)
            tasks.start_soon(self._losses.keep_oracle, oracle, crew, partial(self._hear_oracle, oracle))
        for peer in crew.workers:
            self._employ(peer, crew, tasks)
        tasks.start_soon(self._welcome, crew, tasks)

    def _employ(self, peer: WorkerPeer, crew: Crew, tasks: TaskGroup) -> None:
        worker = WorkerLink(peer, list(self._plan.arms), self._outbox)
        self._workers.append(worker)
        self.leasing.join(worker)
        tasks.start_soon(self._losses.keep_worker, worker, crew, partial(self._hear_worker, worker))

    async def _welcome(self, crew: Crew, tasks: TaskGroup) -> None:
        """Give those who join during the run a place too."""
        while True:
            self._employ(await crew.joined(), crew, tasks)
            self.move_on()

    def move_on(self) -> None:
        """Lease what there is room for, send what has piled up, and see whether the run is over."""
        if self._ending.over.is_set():
            return
        if not self.trials.draining:
            self.leasing.deal(len(self.trials.active), self._lease)
            self._journal_leases()
        self._outbox.flush()
        self._ending.look()

    # Control from outside

    def look(self) -> RunView:
        """What is on its way."""
        return self._stalls.look()

    def pause(self) -> None:
        """Lease and start nothing more until ``unpause``; arms that run go on."""
        self.leasing.pause(True)
        self.move_on()

    def unpause(self) -> None:
        """Lease and start again."""
        self.leasing.pause(False)
        self.trials.tick()
        self.move_on()

    def adjust(self, key: str, value: int | float) -> None:
        """Take a new value of a key that may change while a run works; it is a right one.

        Raises:
            KeyError: the key is not such a one.
        """
        table, _, rest = key.partition(".")
        arm = rest.removesuffix(".in_flight")
        if table == "arms" and rest != arm and arm in self._plan.arms:
            self.leasing.adjust(limits={arm: int(value)})
        elif key == "engine.in_flight":
            self.leasing.adjust(in_flight=int(value))
        elif key == "engine.lease_max":
            self.leasing.adjust(lease_max=int(value))
        else:
            name, unit = RULES_KEYS[key]
            setattr(self.rules, name, value * unit)
        self.move_on()

    def drain(self) -> None:
        """Start nothing more; what runs may end within ``drain_s``."""
        if self.trials.draining or self._tasks is None:
            return
        for link in self._workers:
            link.halt()
        self._ending.begin_drain()
        self._tasks.start_soon(self._ending.drain)
        self.move_on()

    def cancel(self) -> None:
        """Start nothing more and break off what runs; what is owed becomes cancelled. What is being read may end."""
        if self.trials.cancelling or self._tasks is None:
            return
        self._ending.begin_cancel()
        self.drain()
        self._tasks.start_soon(self._ending.cancel)

    def stop(self) -> None:
        """End at once; what is on its way stays owed."""
        self._ending.over.set()

    # Leases

    def _drawn(self, ordinal: int) -> _Drawn:
        """The payload of a trial; whatever a provider raises is its own fault, never the run's."""
        cell = self._plan.cell(ordinal)
        try:
            return _Drawn(self._payload(cell.task, cell.trial), "")
        except BaseException as error:  # noqa: BLE001 - see above
            return _Drawn(Payload(0, {}), describe(error, "the payload"))

    def _lease(self, ordinal: int, link: WorkerLink) -> None:
        cell, ((seed, params), problem) = self._plan.cell(ordinal), self._drawn(ordinal)
        task_id, arm = self._plan.task_ids[cell.task], self._plan.arms[cell.arm]
        attempt = self.ledger.next_attempt(ordinal)
        trial = Trial(ordinal, trial_key(arm, task_id, cell.trial), task_id, arm, cell.trial, seed, params, attempt)
        active = self.trials.start(trial, link, self._oracles[ordinal % len(self._oracles)])
        self._leased.setdefault((link.peer.name, attempt), []).append(trial.key)
        if problem:
            self.trials.end_arm(active)
            self.trials.failed(active, Cause.PROVIDER, problem)
        else:
            link.lease(trial)

    def _journal_leases(self) -> None:
        """Write down what was leased: a start without an end is what was in flight at a crash."""
        for (worker, attempt), keys in self._leased.items():
            self._leases += 1
            body: dict[str, Json] = {"lease": self._leases, "worker": worker, "keys": keys, "attempt": attempt}
            self._committer.add(Entry(LineType.LEASE, None, body))
        self._leased = {}

    # What workers say

    async def _hear_worker(self, link: WorkerLink) -> None:
        async for events in link.peer.events():
            self.trials.tick()
            link.heard_at = self.trials.now
            for event in events:
                self._on_worker_event(link, event)
            self._losses.check_health(link, self._workers)
            self.move_on()
        raise PeerLost(link.peer.name, "its events ended")

    def _on_worker_event(self, link: WorkerLink, event: WorkerEvent) -> None:
        if isinstance(event, Noted):
            self._committer.add(Entry(LineType.NOTE, None, {"text": event.text}))
            return
        if isinstance(event, Settled):
            self.leasing.settled(link, event.settle)
            return
        active = self.trials.current(event)
        if active is None:
            return
        match event:
            case Finished():
                active.link.attempt_ended(well=True)
                self._on_finished(active, event)
            case Opened():
                self._on_opened(active, event)
            case Failed():
                active.link.attempt_ended(well=False)
                self.trials.end_arm(active)
                self.trials.failed(active, event.cause, event.detail)
            case Returned():
                self.trials.release(active)
                if not self.trials.draining:
                    self.leasing.again(active.trial.ordinal)
            case _ as never:
                assert_never(never)

    def _on_opened(self, active: Active, event: Opened) -> None:
        trial = active.trial
        self.trials.enter(active, Phase.BASELINE)
        active.generation = active.oracle.generation
        active.outlives = event.read_path.channel != ChannelName.SNAPSHOT
        active.oracle.read_before(
            ReadBefore(trial.ordinal, trial.attempt, trial.key, trial.task_id, trial.params, event.read_path)
        )

    def _on_finished(self, active: Active, event: Finished) -> None:
        self.trials.end_arm(active)
        self._read(active, event)

    def _read(self, active: Active, finished: Finished) -> None:
        if active.generation != active.oracle.generation:
            self.trials.failed(active, Cause.ORACLE_LOST, "the oracle that had read its baseline was lost")
            return
        self.trials.enter(active, Phase.READING)
        active.finished = finished
        active.oracle.read_after(ReadAfter(finished.ordinal, finished.attempt, finished.report))

    def _on_killed(self, active: Active, detail: str) -> None:
        """An arm has killed its worker, and the record can still be read: it is scored like any other fault."""
        fault, now, trial = ArmFault.KILLED_WORKER, self._clock.utc_now(), active.trial
        report = self._not_reported(fault, detail)
        self._read(active, Finished(trial.ordinal, trial.attempt, report, fault, detail, now, now, 0.0))

    # What oracles say

    async def _hear_oracle(self, link: OracleLink) -> None:
        async for events in link.peer.events():
            self.trials.tick()
            link.heard_at = self.trials.now
            for event in events:
                self._on_oracle_event(event)
            self.move_on()
        raise PeerLost(link.peer.name, "its events ended")

    def _on_oracle_event(self, event: OracleEvent) -> None:
        active = self.trials.current(event)
        if active is None:
            return
        match event:
            case Ready():
                self.trials.enter(active, Phase.RUNNING)
                active.link.go(event.ordinal)
            case Judged():
                self._on_judged(active, event)
            case Unread():
                if active.phase is Phase.BASELINE:
                    self.trials.end_arm(active)
                self._on_unread(active, event)
            case _ as never:
                assert_never(never)

    def _on_unread(self, active: Active, event: Unread) -> None:
        lost = active.host is not active.link.peer or not active.link.filled
        if lost and not active.outlives:  # the record was in a worker that is gone: nobody made it unreadable
            self.trials.failed(active, Cause.WORKER_LOST, event.reason)
            return
        self.ledger.unreadable_attempts[active.trial.arm] += 1
        self.trials.failed(active, Cause.UNREADABLE, event.reason)

    def _on_judged(self, active: Active, event: Judged) -> None:
        self.trials.enter(active, Phase.COMMITTING)
        finished, trial = active.finished, active.trial
        assert finished is not None
        execution = Execution(
            attempt=trial.attempt,
            isolation=self.rules.isolation[trial.arm],
            arm_fault=finished.fault,
            fault_detail=finished.detail,
            started_at=finished.started_at,
            finished_at=finished.finished_at,
            latency_s=finished.latency_s,
            reads=event.reads,
        )
        judgement = Judgement(True, event.holds, event.reason, event.body, event.seen)
        row = self._side.row(trial, finished.report, judgement, execution)
        seen: dict[str, Json] = {} if event.seen is None else {"seen": event.seen}
        self.labels[trial.arm][self._side.label(row)] += 1
        self.trials.scored(active, {"row": row, **seen})
