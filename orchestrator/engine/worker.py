"""A worker: many trials in flight, each with a fresh fixture, one arm, and an end that is always told.

It knows neither Ray nor a kind, and nothing of the oracle: it opens fixtures, runs arms when the driver says that the
baseline is read, seals, and tells what came out. One trial passes through it like this::

    lease -> open a fixture -> Opened ... go -> run the arm -> seal -> Finished ... close -> close the fixture
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, cast

import anyio
from anyio import to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from arms.base import Arm, ArmTask, AsyncArm, SyncArm
from arms.environment import Environment, bind_environment
from arms.sync import SyncEnvironment
from orchestrator.engine.fixtures import FixtureShelf
from orchestrator.engine.job_pool import JobPool
from orchestrator.engine.lanes import Lanes
from orchestrator.engine.watched import WatchedBackend
from orchestrator.kinds.base import WorkerSide
from providers.base import Fixture, Provider
from spec.canonical import JsonObject, canonical_json
from spec.clock import Clock
from spec.errors import ArmFaultError
from spec.mailbox import Mailbox
from spec.messages import Cause, Failed, Finished, Noted, Opened, Returned, Settled, WorkerEvent, WorkerOrders
from spec.report import ArmFault, MalformedReport
from spec.task import Task
from spec.text import clean, describe
from spec.trial import Payload, Trial

MOVE_S: Final = 0.25
"""How often a worker's loop shows that it moves."""

STUCK_THREADS_MAX: Final = 256
"""Arms past their deadline that may still hold a thread, before the worker is worn out."""


@dataclass(frozen=True, slots=True)
class HostedArm:
    """An arm as a worker runs it.

    Attributes:
        call: the arm itself.
        blocking: True where it is a plain function that needs a thread.
        deadline_s: seconds that it may take.
    """

    call: Arm
    blocking: bool
    deadline_s: float


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Bounds of a worker.

    Attributes:
        open_s, close_s: seconds for opening and closing one fixture; closing the provider takes no longer either.
        idle_s: seconds that an arm may go without using its environment; 0 is no limit.
        report_bytes_max: size of a report as JSON.
        threads_max: arms that may block a thread at once, those apart that are past their deadline, as long as no
            permits for more come.
    """

    open_s: float
    close_s: float
    idle_s: float
    report_bytes_max: int
    threads_max: int


class _Answer(NamedTuple):
    report: JsonObject
    fault: ArmFault | None
    detail: str


class _Slot:
    """One trial in this worker."""

    __slots__ = ("arm", "backend", "closed", "due", "fixture", "place", "started", "started_at", "told", "trial")

    told: ArmTask

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.arm = trial.arm
        self.fixture: Fixture | None = None
        self.backend: WatchedBackend | None = None
        self.closed = False
        self.place = -1
        self.due = 0.0
        self.started = 0.0
        self.started_at = ""


class Worker:
    """Hosts fixtures and arms; see the module.

    Args:
        worker_id: the name by which the oracle asks for this worker's snapshots.
        provider: where fixtures come from.
        tasks: task id -> task.
        arms: name -> arm.
        side: the kind's worker side.
        limits: bounds.
        clock: where time comes from.
    """

    def __init__(
        self,
        *,
        worker_id: str,
        provider: Provider,
        tasks: Mapping[str, Task],
        arms: Mapping[str, HostedArm],
        side: WorkerSide,
        limits: WorkerLimits,
        clock: Clock,
    ) -> None:
        self._provider, self._tasks, self._arms, self._side = provider, tasks, arms, side
        self._limits, self._clock, self._pid = limits, clock, os.getpid()
        self._shelf = FixtureShelf(worker_id)
        self._outbox: Mailbox[WorkerEvent] = Mailbox()
        self._slots: dict[int, _Slot] = {}
        self._to_open: deque[_Slot] = deque()
        self._to_close: deque[_Slot] = deque()
        self._lanes: Lanes[_Slot] = Lanes(arms)
        self._threads = anyio.CapacityLimiter(limits.threads_max)
        self._in_threads: set[object] = set()
        self._scope = anyio.CancelScope()
        self._openers = self._pool(self._next_to_open, self._open, _past_due, self._open_expired)
        self._runners = self._pool(self._lanes.take, self._run_arm, self._overdue, self._arm_expired)
        self._closers = self._pool(self._next_to_close, self._close, _past_due, self._close_expired)
        self._closing = anyio.CancelScope(shield=True)
        self._unclosed = 0
        self._all_closed = anyio.Event()
        self._halted = False
        self._settle = 0
        self._moved_at = clock.monotonic()

    def _pool(
        self,
        take: Callable[[], _Slot | None],
        run: Callable[[_Slot], Any],
        overdue: Callable[[_Slot, float], bool],
        expired: Callable[[_Slot], None],
    ) -> JobPool[_Slot]:
        return JobPool(take=take, run=run, overdue=overdue, expired=expired, clock=self._clock)

    async def serve(self) -> None:
        """Work until cancelled, or worn out; then close every fixture that is still open, and the provider.

        It is worn out when too many arms that are past their deadline still hold a thread: nobody can end such a
        thread, and a process with too many of them can start no more for the arms of others.
        """
        try:
            with self._scope:
                await self._serve()
        finally:
            self._outbox.close()

    async def _serve(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._serve_closers)
            tasks.start_soon(self._move)
            try:
                async with anyio.create_task_group() as working:
                    working.start_soon(self._openers.serve)
                    working.start_soon(self._runners.serve)
            finally:
                with anyio.move_on_after(self._limits.close_s, shield=True):
                    await self._close_all()
                self._closing.cancel()
                await self._close_provider()

    async def _serve_closers(self) -> None:
        """Close fixtures, shielded: a close that is under way when the work ends is carried through."""
        with self._closing:
            await self._closers.serve()

    async def _move(self) -> None:
        """Note that the loop moves; while an arm holds it up, it does not."""
        while True:
            self._moved_at = self._clock.monotonic()
            await self._clock.sleep(MOVE_S)

    def held_up_s(self) -> float:
        """Seconds since the loop has moved, at most ``MOVE_S`` where nothing holds it up; for any thread."""
        return max(0.0, self._clock.monotonic() - self._moved_at)

    def post(self, orders: WorkerOrders) -> None:
        """Take orders; never waits."""
        if orders.permits is not None:
            self._lanes.allow(orders.permits)
            self._threads.total_tokens = max(self._threads.total_tokens, sum(orders.permits.values()))
        self._settle = orders.settle or self._settle
        self._tell_settled()
        if orders.halt:
            self._halt()
        for ordinal in orders.close:  # before leases: the next attempt of a trial may be in the same batch
            slot = self._slots.pop(ordinal, None)
            if slot is not None:
                self._let_go(slot)
        for trial in orders.lease:
            self._lease(trial)
        for ordinal in orders.go:
            self._go(ordinal)
        for pool in (self._openers, self._runners, self._closers):
            pool.wake()

    def _tell_settled(self) -> None:
        """Answer the last order to settle once it is carried out."""
        if self._settle and self._lanes.settled:
            self._outbox.put(Settled(self._settle))
            self._settle = 0

    async def events(self, coalesce_s: float = 0.0) -> list[WorkerEvent]:
        """What happened since the last call; waits for the first event. Empty once the work has ended."""
        return await self._outbox.take_all(coalesce_s)

    def snapshot(self, places: Sequence[int]) -> bytes:
        """The records of in-memory fixtures as JSON; called by the oracle, from another thread."""
        return self._shelf.snapshot(places)

    def _lease(self, trial: Trial) -> None:
        if self._halted:
            self._outbox.put(Returned(trial.ordinal, trial.attempt))
            return
        slot = self._slots[trial.ordinal] = _Slot(trial)
        self._to_open.append(slot)

    def _go(self, ordinal: int) -> None:
        slot = self._slots.get(ordinal)
        if slot is None:
            return
        if self._halted:
            self._outbox.put(Returned(ordinal, slot.trial.attempt))
        else:
            self._lanes.add(slot)

    def _halt(self) -> None:
        self._halted = True
        for slot in (*self._to_open, *self._lanes.clear()):
            self._outbox.put(Returned(slot.trial.ordinal, slot.trial.attempt))
        self._to_open.clear()

    # Opening

    def _next_to_open(self) -> _Slot | None:
        if not self._to_open:
            return None
        slot = self._to_open.popleft()
        slot.due = self._clock.monotonic() + self._limits.open_s
        return slot

    async def _open(self, slot: _Slot) -> None:
        trial = slot.trial
        try:
            task = self._tasks[trial.task_id]
            slot.fixture = await self._provider.open(task, Payload(trial.seed, trial.params))
            slot.place, read_path = self._shelf.put(slot.fixture)
            slot.backend = WatchedBackend(slot.fixture.environment, self._clock)
            goal, deadline_s = task.goal.format_map(trial.params), self._arms[slot.arm].deadline_s
            slot.told = ArmTask(goal, dict(trial.params), slot.backend.tools, trial.seed, deadline_s)
        except BaseException as error:  # noqa: BLE001 - whatever a provider raises is its own fault, never the run's
            await checkpoint_if_cancelled()  # raises where the cancellation is ours
            self._fail(slot, describe(error, "opening a fixture"))
        else:
            if not slot.closed:
                self._outbox.put(Opened(trial.ordinal, trial.attempt, read_path))
        if slot.closed:  # the driver let go of the trial while its fixture was still opening
            self._let_go(slot)
            self._closers.wake()

    def _open_expired(self, slot: _Slot) -> None:
        self._fail(slot, f"a fixture did not open within {self._limits.open_s:g} s")

    # Running

    async def _run_arm(self, slot: _Slot) -> None:
        slot.started_at, slot.started = self._clock.utc_now(), self._clock.monotonic()
        slot.due = slot.started + self._arms[slot.arm].deadline_s
        bind_environment(slot.backend)
        answer = await self._ask(self._arms[slot.arm], slot.told)
        bind_environment(None)
        self._finish(slot, answer)

    async def _ask(self, arm: HostedArm, told: ArmTask) -> _Answer:
        try:
            report = self._side.parse(await self._call(arm, told))
            problem = self._oversize(report)
        except anyio.get_cancelled_exc_class() as error:
            await (
                checkpoint_if_cancelled()
            )  # raises where the cancellation is ours, and returns where the arm raised it
            return self._broken(ArmFault.RAISED, describe(error))
        except MalformedReport as error:
            return self._broken(ArmFault.MALFORMED, describe(error))
        except ArmFaultError as error:
            return self._named_fault(error)
        except Exception as error:  # noqa: BLE001 - whatever an arm raises is its own fault, never the run's
            return self._broken(ArmFault.RAISED, describe(error))
        except BaseException as error:  # noqa: BLE001 - an arm may ask the process to exit; the run goes on
            return self._broken(ArmFault.EXITED, describe(error))
        return self._broken(ArmFault.MALFORMED, problem) if problem else _Answer(report, None, "")

    async def _call(self, arm: HostedArm, told: ArmTask) -> object:
        if not arm.blocking:
            try:
                return await cast(AsyncArm, arm.call)(told, Environment())
            finally:
                _end_copies(self._pid)
        call = partial(_outcome, partial(cast(SyncArm, arm.call), told, SyncEnvironment()), self._pid, self._in_threads)
        returned, error = await to_thread.run_sync(call, abandon_on_cancel=True, limiter=self._threads)
        if error is not None:
            raise error
        return returned

    def _oversize(self, report: JsonObject) -> str:
        size_bytes, limit = len(canonical_json(report)), self._limits.report_bytes_max
        return f"the report has {size_bytes} bytes, at most {limit} are allowed" if size_bytes > limit else ""

    def _named_fault(self, error: ArmFaultError) -> _Answer:
        """The fault that an error names; an arm may raise one too, and with anything in it."""
        kind, detail = getattr(error, "kind", None), getattr(error, "detail", None)
        if isinstance(kind, ArmFault) and isinstance(detail, str):
            return self._broken(kind, clean(detail))
        return self._broken(ArmFault.RAISED, describe(error))

    def _broken(self, fault: ArmFault, detail: str) -> _Answer:
        return _Answer(self._side.not_reported(fault, detail), fault, detail)

    def _arm_expired(self, slot: _Slot) -> None:
        bind_environment(None)
        self._finish(slot, self._late(slot))
        stuck = len(self._in_threads) - self._threads.borrowed_tokens
        if stuck >= STUCK_THREADS_MAX:
            self._outbox.put(Noted(f"{stuck} arms are past their deadline and still hold a thread each"))
            self._scope.cancel()

    def _late(self, slot: _Slot) -> _Answer:
        deadline_s = self._arms[slot.arm].deadline_s
        if self._is_idle(slot, self._clock.monotonic()):
            return self._broken(ArmFault.TIMEOUT, f"no use of the environment for {self._limits.idle_s:g} s")
        return self._broken(ArmFault.TIMEOUT, f"no report within {deadline_s:g} s")

    def _finish(self, slot: _Slot, answer: _Answer) -> None:
        """Seal, then tell: nothing of the arm reaches the record once the oracle may read it."""
        assert slot.fixture is not None
        assert slot.backend is not None
        self._lanes.done(slot.arm)
        self._tell_settled()
        now = self._clock.monotonic()
        if self._overdue(slot, now):
            answer = self._late(slot)
        slot.backend.revoke()
        try:
            slot.fixture.seal()
        except BaseException as error:  # noqa: BLE001 - whatever a fixture raises is the provider's fault
            slot.backend.fault = describe(error, "sealing the environment")
        if slot.backend.fault is not None:
            self._fail(slot, slot.backend.fault)
            return
        trial, finished_at, latency_s = slot.trial, self._clock.utc_now(), now - slot.started
        self._outbox.put(Finished(trial.ordinal, trial.attempt, *answer, slot.started_at, finished_at, latency_s))

    def _overdue(self, slot: _Slot, now: float) -> bool:
        return now > slot.due or self._is_idle(slot, now)

    def _is_idle(self, slot: _Slot, now: float) -> bool:
        idle_s = self._limits.idle_s
        return bool(idle_s) and slot.backend is not None and now > max(slot.started, slot.backend.active_at) + idle_s

    # Closing

    def _let_go(self, slot: _Slot) -> None:
        self._unclosed += 1
        self._to_close.append(slot)

    def _next_to_close(self) -> _Slot | None:
        if not self._to_close:
            return None
        slot = self._to_close.popleft()
        slot.due = self._clock.monotonic() + self._limits.close_s
        return slot

    async def _close(self, slot: _Slot) -> None:
        slot.closed = True
        if slot.backend is not None:
            slot.backend.revoke()  # an arm that blocks its thread may still run where the work was broken off
        if slot.fixture is not None:
            self._shelf.drop(slot.place)
            try:
                await slot.fixture.close()
            except BaseException as error:  # noqa: BLE001 - the trial is scored; this is only noted
                await checkpoint_if_cancelled()  # raises where the cancellation is ours
                self._outbox.put(Noted(describe(error, f"closing a fixture of {slot.trial.key}")))
        self._count_closed()

    def _close_expired(self, slot: _Slot) -> None:
        self._outbox.put(Noted(f"a fixture of {slot.trial.key} did not close within {self._limits.close_s:g} s"))
        self._count_closed()

    def _count_closed(self) -> None:
        self._unclosed -= 1
        if not self._unclosed:
            self._all_closed.set()

    async def _close_all(self) -> None:
        """Let go of everything that is open, and wait until it is closed."""
        for slot in self._slots.values():
            self._let_go(slot)
        self._slots.clear()
        self._closers.wake()
        self._all_closed = anyio.Event()
        if self._unclosed:
            await self._all_closed.wait()

    async def _close_provider(self) -> None:
        with anyio.move_on_after(self._limits.close_s, shield=True):
            try:
                await self._provider.close()
            except BaseException:  # noqa: BLE001 - all trials are told by now
                await checkpoint_if_cancelled()

    def _fail(self, slot: _Slot, detail: str) -> None:
        self._outbox.put(Failed(slot.trial.ordinal, slot.trial.attempt, Cause.PROVIDER, detail))


def _outcome(call: Callable[[], object], pid: int, in_threads: set[object]) -> tuple[object, BaseException | None]:
    """What a blocking arm returned or raised, as a value: raised across threads, some exceptions tear down a task."""
    inside = object()
    in_threads.add(inside)
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - whatever an arm raises is told from its own task
        return None, error
    finally:
        _end_copies(pid)
        in_threads.discard(inside)


def _end_copies(pid: int) -> None:
    """End this process if it is a copy that an arm has forked: a trial has one end, and a run one driver."""
    if os.getpid() != pid:
        os._exit(0)


def _unbind_copy() -> None:
    bind_environment(None)


os.register_at_fork(after_in_child=_unbind_copy)


def _past_due(slot: _Slot, now: float) -> bool:
    return now > slot.due
