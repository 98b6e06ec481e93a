"""The driver: leases trials, passes on what workers and oracles say, and commits rows. One task group, one writer.

A trial's way, in the numbers of docs/design/engine.md: lease, Opened -> read before, Ready -> go, Finished -> read
after, Judged -> commit, close. Every handler below is a plain function that never waits; what it wants sent piles up
in the links and leaves in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, assert_never

import anyio
from anyio.abc import TaskGroup

from oracle.base import Judgement
from orchestrator.engine.active import ASKED, EXPECTED, HELD, Active, Phase, TrialEvent
from orchestrator.engine.committer import Committer, Entry
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.links import OracleLink, WorkerLink
from orchestrator.engine.peers import Crew, OraclePeer, WorkerPeer
from orchestrator.journal import Journal, LineType
from orchestrator.kinds.base import DriverSide, Execution
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.errors import PeerLost, RunIncomplete
from spec.groups import leaves
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
    Unread,
    WorkerEvent,
)
from spec.text import describe
from spec.trial import Payload, Trial, trial_key

BACKOFF_FIRST_S: Final = 0.2
BACKOFF_MAX_S: Final = 30.0
LIFE_SIGN_S: Final = 6.0


@dataclass(frozen=True, slots=True)
class Rules:
    """What the driver goes by.

    Attributes:
        attempts: executions of a trial before it is counted unreadable or infrastructure.
        drain_s: seconds that running arms get after the first signal.
        group_commit_s: seconds that a line may wait for others before it is synced.
        stall_report_s: seconds without any event after which the driver says what it waits for.
        heartbeat_s: seconds between two signs of life that are asked of a peer.
        losses_max: workers and oracles that may be lost with no row in between before the run gives up.
        isolation: arm -> its isolation level.
    """

    attempts: int
    drain_s: float
    group_commit_s: float
    stall_report_s: float
    heartbeat_s: float
    losses_max: int
    isolation: Mapping[str, str]


class Driver:
    """Runs what is owed; see the module.

    Args:
        plan: the trials of the run.
        ledger: how they stand; kept up to date.
        leasing: which go out next.
        journal: where every line goes.
        side: the kind's driver side.
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
        payload: Callable[[int, int], Payload],
        trial_digest: Callable[[int, int], str],
        rules: Rules,
        clock: Clock,
        notice: Callable[[str], None],
        leases: int = 0,
    ) -> None:
        self._plan, self.ledger, self._leasing, self._side = plan, ledger, leasing, side
        self._payload, self._trial_digest, self._rules, self._clock = payload, trial_digest, rules, clock
        self._notice = notice
        self._committer = Committer(
            journal, group_commit_s=rules.group_commit_s, clock=clock, acknowledged=self._move_on
        )
        self.active: dict[int, Active] = {}
        self.labels: dict[str, Counter[str]] = {arm: Counter() for arm in plan.arms}
        self._workers: list[WorkerLink] = []
        self._oracles: list[OracleLink] = []
        self._leased: dict[tuple[str, int], list[str]] = {}
        self._leases = leases
        self._losses = 0
        self._draining = False
        self._over = anyio.Event()
        self._now = clock.monotonic()
        self._tasks: TaskGroup | None = None

    # The run loop

    async def run(self, crew: Crew) -> None:
        """Work until nothing is owed, or until drained or stopped.

        Raises:
            RunIncomplete: what carries the crew is gone, or its members are lost one after the other.
            JournalUnwritable: a row could not be made durable.
        """
        self._workers = [WorkerLink(peer, list(self._plan.arms)) for peer in crew.workers]
        self._oracles = [OracleLink(peer) for peer in crew.oracles]
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(self._committer.serve)
                tasks.start_soon(crew.watch)
                for worker in self._workers:
                    tasks.start_soon(self._keep_worker, worker, crew)
                for oracle in self._oracles:
                    tasks.start_soon(self._keep_oracle, oracle, crew)
                tasks.start_soon(self._watch_for_stalls)
                self._move_on()
                await self._over.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._tasks = None
            self._over.set()
            await self._committer.flush()  # shielded; what was judged is kept however this ended

    def drain(self) -> None:
        """Start nothing more; what runs may end within ``drain_s``."""
        if self._draining or self._tasks is None:
            return
        self._draining = True
        for link in self._workers:
            link.halt()
        for active in [a for a in self.active.values() if a.phase in (Phase.OPENING, Phase.BASELINE)]:
            self._release(active)
        self._tasks.start_soon(self._end_drain)
        self._move_on()

    def stop(self) -> None:
        """End at once; what is on its way stays owed."""
        self._over.set()

    async def _end_drain(self) -> None:
        await self._clock.sleep(self._rules.drain_s)
        self._over.set()

    def _move_on(self) -> None:
        """Lease what there is room for, send what has piled up, and see whether the run is over."""
        if self._over.is_set():
            return
        places = [worker for worker in self._workers if worker.filled]
        if places and not self._draining:
            self._leasing.deal(places, len(self.active), self._lease)
            self._journal_leases()
        for worker in self._workers:
            worker.flush()
        for oracle in self._oracles:
            oracle.flush()
        if not self.active and (self._draining or self.ledger.owed() == 0):
            self._over.set()

    def _lease(self, ordinal: int, link: WorkerLink) -> None:
        cell = self._plan.cell(ordinal)
        problem = ""
        try:
            seed, params = self._payload(cell.task, cell.trial)
        except BaseException as error:  # noqa: BLE001 - whatever a provider raises is its own fault, never the run's
            seed, params, problem = 0, {}, describe(error, "the payload")
        task_id, arm = self._plan.task_ids[cell.task], self._plan.arms[cell.arm]
        attempt = self.ledger.next_attempt(ordinal)
        trial = Trial(ordinal, trial_key(arm, task_id, cell.trial), task_id, arm, cell.trial, seed, params, attempt)
        self.ledger.started(ordinal, attempt)
        oracle = self._oracles[ordinal % len(self._oracles)]
        active = self.active[ordinal] = Active(trial, link, oracle, self._now)
        self._leased.setdefault((link.peer.name, attempt), []).append(trial.key)
        if problem:
            self._end_arm(active)
            self._attempt_failed(active, Cause.PROVIDER, problem)
        else:
            link.lease.append(trial)

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
            self._now = self._clock.monotonic()
            for event in events:
                self._on_worker_event(event)
            self._move_on()
        raise PeerLost(link.peer.name, "its events ended")

    def _on_worker_event(self, event: WorkerEvent) -> None:
        if isinstance(event, Noted):
            self._committer.add(Entry(LineType.NOTE, None, {"text": event.text}))
            return
        active = self._current(event)
        if active is None:
            return
        match event:
            case Finished():
                self._on_finished(active, event)
            case Opened():
                self._on_opened(active, event)
            case Failed():
                self._end_arm(active)
                self._attempt_failed(active, event.cause, event.detail)
            case Returned():
                self._release(active)
                if not self._draining:
                    self._leasing.again(active.trial.ordinal)
            case _ as never:
                assert_never(never)

    def _on_opened(self, active: Active, event: Opened) -> None:
        trial = active.trial
        self._enter(active, Phase.BASELINE)
        active.generation = active.oracle.generation
        active.oracle.before.append(
            ReadBefore(trial.ordinal, trial.attempt, trial.key, trial.task_id, trial.params, event.read_path)
        )

    def _on_finished(self, active: Active, event: Finished) -> None:
        self._end_arm(active)
        if active.generation != active.oracle.generation:
            self._attempt_failed(active, Cause.ORACLE_LOST, "the oracle that had read its baseline was lost")
            return
        self._enter(active, Phase.READING)
        active.finished = event
        active.oracle.after.append(ReadAfter(event.ordinal, event.attempt, event.report))

    # What oracles say

    async def _hear_oracle(self, link: OracleLink) -> None:
        async for events in link.peer.events():
            self._now = self._clock.monotonic()
            for event in events:
                self._on_oracle_event(event)
            self._move_on()
        raise PeerLost(link.peer.name, "its events ended")

    def _on_oracle_event(self, event: OracleEvent) -> None:
        active = self._current(event)
        if active is None:
            return
        match event:
            case Ready():
                self._enter(active, Phase.RUNNING)
                active.link.go.append(event.ordinal)
            case Judged():
                self._on_judged(active, event)
            case Unread():
                if active.phase is Phase.BASELINE:
                    self._end_arm(active)
                self._on_unread(active, event)
            case _ as never:
                assert_never(never)

    def _on_unread(self, active: Active, event: Unread) -> None:
        if active.host is not active.link.peer:  # the record was in a worker that is gone: nobody made it unreadable
            self._attempt_failed(active, Cause.WORKER_LOST, event.reason)
            return
        self.ledger.unreadable_attempts[active.trial.arm] += 1
        self._attempt_failed(active, Cause.UNREADABLE, event.reason)

    def _on_judged(self, active: Active, event: Judged) -> None:
        self._enter(active, Phase.COMMITTING)
        finished, trial = active.finished, active.trial
        assert finished is not None
        execution = Execution(
            attempt=trial.attempt,
            isolation=self._rules.isolation[trial.arm],
            arm_fault=finished.fault,
            fault_detail=finished.detail,
            started_at=finished.started_at,
            finished_at=finished.finished_at,
            latency_s=finished.latency_s,
            reads=event.reads,
        )
        judgement = Judgement(True, event.holds, event.reason, event.body, event.seen)
        row = self._side.row(trial, finished.report, judgement, execution)
        digest = self._trial_digest(trial.ordinal, trial.seed)
        body: dict[str, Json] = {"attempt": trial.attempt, "trial_digest": digest, "row": row}
        if event.seen is not None:
            body["seen"] = event.seen
        self.labels[trial.arm][self._side.label(row)] += 1
        self._commit_end(active, LineType.SCORED, Standing.SCORED, body)

    # Losses

    async def _keep_worker(self, link: WorkerLink, crew: Crew) -> None:
        """Keep a worker's place filled: what a lost one had is repeated, on a fresh one."""
        while True:
            why = await until_lost(link.pump, partial(self._hear_worker, link), partial(self._ask_for_life, link.peer))
            link.lose()
            held = [active for active in self.active.values() if active.link is link and active.phase in HELD]
            for active in held:
                self._end_arm(active)
            self._lost(why, held, Cause.WORKER_LOST)
            link.fill(await crew.another_worker())
            self._move_on()

    async def _keep_oracle(self, link: OracleLink, crew: Crew) -> None:
        """Keep an oracle's place filled; a reading that was under way is no reading."""
        while True:
            why = await until_lost(link.pump, partial(self._hear_oracle, link), partial(self._ask_for_life, link.peer))
            link.lose()
            asked = [active for active in self.active.values() if active.oracle is link and active.phase in ASKED]
            for active in asked:
                if active.phase is Phase.BASELINE:
                    self._end_arm(active)
            self._lost(why, asked, Cause.ORACLE_LOST)
            link.fill(await crew.another_oracle())
            self._move_on()

    def _lost(self, why: str, hit: Sequence[Active], cause: Cause) -> None:
        self._losses += 1
        if self._losses > self._rules.losses_max:
            raise RunIncomplete(f"{self._losses} workers and oracles were lost with no row in between; the last: {why}")
        text = f"{why}; {len(hit)} trials are repeated"
        self._notice(text)
        self._committer.add(Entry(LineType.NOTE, None, {"text": text}))
        for active in hit:
            self._attempt_failed(active, cause, why)

    async def _ask_for_life(self, peer: WorkerPeer | OraclePeer) -> None:
        """Ask a peer for signs of life; one that gives none is lost, whatever its connections say."""
        while True:
            await self._clock.sleep(self._rules.heartbeat_s)
            try:
                with anyio.fail_after(LIFE_SIGN_S):
                    await peer.ping()
            except TimeoutError as error:
                raise PeerLost(peer.name, f"no sign of life within {LIFE_SIGN_S:g} s") from error

    # Ends of attempts

    def _attempt_failed(self, active: Active, cause: Cause, detail: str) -> None:
        """Repeat the trial with a fresh fixture, or count it apart when its attempts are used up."""
        trial = active.trial
        self._enter(active, Phase.COMMITTING)
        body: dict[str, Json] = {"attempt": trial.attempt, "cause": cause, "detail": detail}
        failures = self.ledger.failed(trial.ordinal)
        if failures < self._rules.attempts:
            self._committer.add(Entry(LineType.FAILED, trial.key, body, lambda _: self._repeat(active, failures)))
            return
        body["trial_digest"] = self._trial_digest(trial.ordinal, trial.seed)
        unreadable = cause is Cause.UNREADABLE
        line, standing = (
            (LineType.UNREADABLE, Standing.UNREADABLE)
            if unreadable
            else (LineType.INFRASTRUCTURE, Standing.INFRASTRUCTURE)
        )
        self._commit_end(active, line, standing, body)

    def _commit_end(self, active: Active, line: LineType, standing: Standing, body: JsonObject) -> None:
        def committed(offset_bytes: int) -> None:
            self.ledger.ended(active.trial.ordinal, standing, offset_bytes)
            self._losses = 0
            self._forget(active)

        self._committer.add(Entry(line, active.trial.key, body, committed))

    def _repeat(self, active: Active, failures: int) -> None:
        self._forget(active)
        if not self._draining and self._tasks is not None:
            backoff_s = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2 ** (failures - 1))
            self._tasks.start_soon(self._repeat_later, active.trial.ordinal, backoff_s)

    async def _repeat_later(self, ordinal: int, backoff_s: float) -> None:
        await self._clock.sleep(backoff_s)
        self._leasing.again(ordinal)
        self._move_on()

    def _release(self, active: Active) -> None:
        """Let go of a trial that has not run; it stays owed."""
        self._end_arm(active)
        self._forget(active)

    def _end_arm(self, active: Active) -> None:
        active.link.open_trials[active.trial.arm] -= 1

    def _forget(self, active: Active) -> None:
        ordinal = active.trial.ordinal
        del self.active[ordinal]
        active.link.close.append(ordinal)
        active.oracle.forget.append(ordinal)

    # Bookkeeping

    def _current(self, event: TrialEvent) -> Active | None:
        """The trial that an event speaks of, or None (and a journal line) where the event is late or told twice."""
        ordinal, attempt, what = event.ordinal, event.attempt, type(event)
        active = self.active.get(ordinal)
        if active is not None and active.trial.attempt == attempt and active.phase in EXPECTED[what]:
            return active
        if not self._draining:
            why = f"{what.__name__} of attempt {attempt} came late"
            self._committer.add(Entry(LineType.REFUSED, self._plan.key(ordinal), {"attempt": attempt, "why": why}))
        return None

    def _enter(self, active: Active, phase: Phase) -> None:
        active.phase, active.since = phase, self._now

    async def _watch_for_stalls(self) -> None:
        """Say what the run waits for when nothing has happened for a while."""
        limit_s = self._rules.stall_report_s
        while limit_s:
            await self._clock.sleep(limit_s)
            silent_s = self._clock.monotonic() - self._now
            if silent_s >= limit_s and self.active:
                oldest = min(self.active.values(), key=lambda active: active.since)
                waited_s = self._clock.monotonic() - oldest.since
                self._notice(
                    f"no news for {silent_s:.0f} s; {len(self.active)} trials on their way, "
                    f"the oldest is {oldest.trial.key}, {oldest.phase.value} for {waited_s:.0f} s"
                )


async def until_lost(*services: Callable[[], Coroutine[Any, Any, None]]) -> str:
    """Run what serves a peer until one of it finds the peer lost; how it was lost."""
    lost: list[str] = []
    try:
        async with anyio.create_task_group() as tasks:
            for service in services:
                tasks.start_soon(service)
    except* PeerLost as group:
        lost += [str(error) for error in leaves(group)]
    return lost[0]
