"""What the tests of the engine share: a worker with a small provider, and peers that do what they are told."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from arms.loading import is_blocking
from oracle.base import Judgement
from orchestrator.engine.driver import Driver, Rules
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.worker import HostedArm, Worker, WorkerLimits
from orchestrator.files import OsFiles
from orchestrator.history import JOURNAL_NAME, read_history
from orchestrator.journal import Journal, recover
from orchestrator.kinds.base import Execution
from orchestrator.kinds.effect.worker import EffectWorker
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.contract import Effect, EffectKind
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.errors import PeerLost, RunIncomplete
from spec.mailbox import Mailbox
from spec.messages import (
    Cause,
    Failed,
    Finished,
    Judged,
    Opened,
    OracleOrders,
    Ready,
    Unread,
    WorkerEvent,
    WorkerOrders,
)
from spec.reading import ReadPath, RecordSchema
from spec.task import Category, OracleSpec, Task
from spec.trial import Payload, Trial

TASK = Task(
    task_id="notes::write",
    title="write",
    goal="Write {note}.",
    category=Category.CONTROL,
    contract=(Effect(EffectKind.RECORD_WRITTEN, {"text": "x"}),),
    oracle=OracleSpec("snapshot"),
    correct_action_available=True,
)


class NoteBackend:
    """Writes a note; refuses empty ones; fails unplanned where it is told to."""

    tools: Sequence[Tool] = (Tool("write", "Write a note.", {"type": "object"}),)
    verifier: ProductVerifier | None = None

    def __init__(self, fixture: NoteFixture) -> None:
        self._fixture = fixture

    async def attempt_intended_action(self) -> Screen:
        await self.call("write", {"text": "x"})
        return Screen(True, "saved")

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        if self._fixture.sealed:
            raise ToolError("sealed")
        if tool == "broken":
            raise ConnectionError("the service is down")
        if tool != "write":
            raise ToolError(f"no tool is called {tool!r}")
        self._fixture.notes.append(str(arguments["text"]))
        return len(self._fixture.notes)


class NoteFixture:
    """A list of notes."""

    read_path = ReadPath("snapshot", True, {})

    def __init__(self, provider: NoteProvider) -> None:
        self._provider = provider
        self.notes: list[str] = []
        self.sealed = self.closed = False
        self.environment = NoteBackend(self)

    def snapshot(self) -> bytes:
        return orjson.dumps({"notes": [{"id": place, "text": text} for place, text in enumerate(self.notes)]})

    def seal(self) -> None:
        self.sealed = True
        if self._provider.seal_error is not None:
            raise self._provider.seal_error

    async def close(self) -> None:
        await anyio.sleep(self._provider.close_s)
        self.closed = True
        if self._provider.close_error is not None:
            raise self._provider.close_error


class NoteProvider:
    """Opens note fixtures, or does what it is told instead.

    Attributes:
        opened: every fixture, in order.
        opens: called instead of opening, where it is not None.
    """

    name, version = "notes", "1"
    schema = RecordSchema("notes")

    def __init__(self) -> None:
        self.opened: list[NoteFixture] = []
        self.opens: Callable[[], Awaitable[Any]] | None = None
        self.open_s = self.close_s = 0.0
        self.seal_error: BaseException | None = None
        self.close_error: BaseException | None = None
        self.fixtures_at_close: list[bool] = []

    def tasks(self) -> Sequence[Task]:
        return [TASK]

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        return Payload(trial, {"note": f"note {trial}"})

    async def open(self, task: Task, payload: Payload) -> Any:
        if self.opens is not None:
            return await self.opens()
        await anyio.sleep(self.open_s)
        self.opened.append(NoteFixture(self))
        return self.opened[-1]

    def manifest(self) -> JsonObject:
        return {}

    async def close(self) -> None:
        self.fixtures_at_close += [fixture.closed for fixture in self.opened]
        raise ConnectionError("cannot be closed either")


class Bench:
    """A worker under test: posts orders, gathers events.

    Attributes:
        events: everything that the worker has told.
    """

    def __init__(self, arms: Mapping[str, Any], clock: Clock, **limits: Any) -> None:
        self.provider = NoteProvider()
        self.deadline_s = limits.pop("deadline_s", 60.0)
        self.events: list[WorkerEvent] = []
        bounds = {"open_s": 60, "close_s": 30, "idle_s": 0, "report_bytes_max": 10_000, "threads_max": 8, **limits}
        self.worker = Worker(
            worker_id="worker-0",
            provider=self.provider,
            tasks={TASK.task_id: TASK},
            arms={name: HostedArm(arm, is_blocking(arm), self.deadline_s) for name, arm in arms.items()},
            side=EffectWorker(),
            limits=WorkerLimits(**bounds),
            clock=clock,
        )
        self.worker.post(WorkerOrders(permits=dict.fromkeys(arms, 100)))
        self._next = 0
        self._news = anyio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The worker works inside of this block."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.worker.serve)
            tasks.start_soon(self._listen)
            yield
            tasks.cancel_scope.cancel()

    async def _listen(self) -> None:
        while True:
            self.events += await self.worker.events()
            self._news.set()
            self._news = anyio.Event()

    def trial(self, arm: str, attempt: int = 1) -> Trial:
        """A further trial of an arm."""
        ordinal, self._next = self._next, self._next + 1
        key = f"{arm}::{TASK.task_id}::t{ordinal}"
        return Trial(ordinal, key, TASK.task_id, arm, ordinal, 7, {"note": "x"}, attempt)

    async def settled(self) -> None:
        """Wait until everything waits for something."""
        await anyio.wait_all_tasks_blocked()

    async def open(self, arm: str) -> Trial:
        """Lease a trial, and wait a moment for its fixture."""
        trial = self.trial(arm)
        self.worker.post(WorkerOrders(lease=[trial]))
        await self.settled()
        return trial

    async def play(self, arm: str, wait_s: float = 0.0) -> Any:
        """Lease a trial, let its arm run, wait, and give the last event about it."""
        trial = await self.open(arm)
        self.worker.post(WorkerOrders(go=[trial.ordinal]))
        await anyio.sleep(wait_s)
        await self.settled()
        return self.about(trial.ordinal)[-1]

    async def play_out(self, arm: str) -> Any:
        """As ``play``, and wait for the arm as long as it takes, for one that works in a thread."""
        trial = await self.open(arm)
        self.worker.post(WorkerOrders(go=[trial.ordinal]))
        while len(self.about(trial.ordinal)) < 2:
            await self._news.wait()
        return self.about(trial.ordinal)[-1]

    def about(self, ordinal: int) -> list[Any]:
        """What was told about a trial, in order."""
        return [event for event in self.events if getattr(event, "ordinal", None) == ordinal]


@pytest.fixture(scope="session")
def bench(clock: Clock) -> Callable[..., Bench]:
    """Makes a worker: arms by name, then limits that differ from generous ones; ``deadline_s`` is the arms'."""

    def make(arms: Mapping[str, Any], **limits: Any) -> Bench:
        return Bench(arms, clock, **limits)

    return make


class SyncedFiles(OsFiles):
    """Knows which bytes are on the disk; syncs cost nothing. Refuses every write from the n-th one on, if told.

    Attributes:
        synced: (type, key, attempt) of every line that is on the disk.
    """

    def __init__(self, refuses_from: int = 0) -> None:
        self.synced: list[tuple[str, Any, Any]] = []
        self._unsynced = b""
        self._refuses_from, self._writes = refuses_from, 0

    def write(self, descriptor: int, data: bytes) -> int:
        self._writes += 1
        if 0 < self._refuses_from <= self._writes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._unsynced += data
        return super().write(descriptor, data)

    def datasync(self, descriptor: int) -> None:
        for line in map(orjson.loads, self._unsynced.splitlines()):
            self.synced.append((line["type"], line.get("key"), line.get("attempt")))
        self._unsynced = b""

    def fsync(self, descriptor: int) -> None:
        self.datasync(descriptor)

    def fsync_dir(self, directory: Path) -> None:
        """Nothing to do."""


class NumberSide:
    """A kind of the least possible size: the row is what went in."""

    def row(self, trial: Trial, report: JsonObject, judgement: Judgement, execution: Execution) -> dict[str, Any]:
        return {"ordinal": trial.ordinal, "report": report, "body": judgement.body, "execution": execution._asdict()}

    def label(self, row: Mapping[str, Any]) -> str:
        return str(row["body"]["label"])


RULES = Rules(3, 30.0, 0.005, 0.0, 2.0, 3, {})


class Stage:
    """A driver with its journal, and peers that answer by a script.

    Attributes:
        script: (ordinal, attempt) -> how the attempt goes: "good", "open", "baseline", "arm" or "unread" for the
            place where it fails, "silent" for no answer to the lease, "waits" for none to the baseline,
            "hangs" for none to the go.
        delay_s, twice: seconds until an answer, and whether it is given twice; asked anew for each.
        log: what the peers were told, in order, as (verb, ordinal, attempt).
        draining: from now on fixtures may be closed whose trials have no end.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        trials: int = 4,
        arms: Sequence[str] = ("a",),
        workers: int = 1,
        in_flight: int = 8,
        refuses_from: int = 0,
        **rules: Any,
    ) -> None:
        self.clock = clock
        self.plan = Plan(["t"], list(arms), trials)
        self.path = folder / JOURNAL_NAME
        self.script: Callable[[int, int], str] = lambda ordinal, attempt: "good"
        self.delay_s: Callable[[], float] = lambda: 0.0
        self.payload: Callable[[int, int], Payload] = lambda task, trial: Payload(trial, {"n": trial})
        self.twice: Callable[[], bool] = lambda: False
        self.log: list[tuple[str, int, int]] = []
        self.notices: list[str] = []
        self.files = SyncedFiles(refuses_from)
        self._in_flight = in_flight
        self._rules = replace(RULES, isolation=dict.fromkeys(arms, "in-process"), **rules)
        self.workers = [ScriptedWorker(f"worker-{place}", self) for place in range(workers)]
        self.oracles = [ScriptedOracle("oracle-0", self)]
        self.broken = self.draining = False
        self.ledger, self.leases = Ledger(self.plan), 0
        self.joined: Any = anyio.sleep_forever
        self.ready: set[tuple[int, int]] = set()
        self.finished: set[tuple[int, int]] = set()

    def driver(self) -> Driver:
        """A driver that begins, or goes on with what the journal says."""
        if self.path.exists():
            history = read_history(self.path, self.plan)
            self.ledger, self.leases = history.ledger, history.leases
            self.journal = Journal.resume(self.path, history.recovered, clock=self.clock, files=self.files)
        else:
            self.journal = Journal.create(self.path, {"run_id": "r"}, clock=self.clock, files=self.files)
        side: Any = NumberSide()
        leasing = Leasing(
            plan=self.plan, ledger=self.ledger, in_flight=self._in_flight, limits={}, lease_max=self._in_flight
        )
        return Driver(
            plan=self.plan,
            ledger=self.ledger,
            leasing=leasing,
            journal=self.journal,
            side=side,
            payload=lambda task, trial: self.payload(task, trial),
            trial_digest=lambda ordinal, seed: f"digest {ordinal} {seed}",
            rules=self._rules,
            clock=self.clock,
            notice=self.notices.append,
            leases=self.leases,
        )

    async def run(self) -> None:
        await self.driver().run(self)

    @property
    def oracle(self) -> ScriptedOracle:
        return self.oracles[-1]

    async def another_worker(self) -> ScriptedWorker:
        await self.clock.sleep(1.0)
        self.workers.append(ScriptedWorker(f"worker-{len(self.workers)}", self))
        return self.workers[-1]

    async def another_oracle(self) -> ScriptedOracle:
        await self.clock.sleep(1.0)
        self.oracles.append(ScriptedOracle(f"oracle-{len(self.oracles)}", self))
        return self.oracles[-1]

    async def lost_with(self, name: str) -> str:
        return ""

    async def watch(self) -> None:
        while not self.broken:
            await self.clock.sleep(0.5)
        raise RunIncomplete("the cluster is gone")

    def lines(self) -> list[dict[str, Any]]:
        """What stands in the journal, commits and heads aside."""
        self.journal.close()
        found: list[dict[str, Any]] = []
        recover(self.path, lambda line: found.append(dict(line.fields())))
        return [line for line in found if line["type"] not in ("head", "commit")]

    def types_of(self, ordinal: int) -> list[tuple[str, int]]:
        """The lines of a trial as (type, attempt)."""
        key = self.plan.key(ordinal)
        return [(line["type"], line["attempt"]) for line in self.lines() if line.get("key") == key]

    def verbs(self, ordinal: int) -> list[tuple[str, int]]:
        return [(verb, attempt) for verb, of, attempt in self.log if of == ordinal]


class Scripted:
    """What both peers have in common."""

    def __init__(self, name: str, stage: Stage) -> None:
        self.name, self.stage = name, stage
        self.attempt: dict[int, int] = {}
        self.box: Mailbox[Any] = Mailbox()
        self.stuck = False

    def tell(self, event: Any) -> None:
        """Answer after the script's delay, perhaps twice."""
        loop = asyncio.get_running_loop()
        for _ in range(1 + self.stage.twice()):
            loop.call_later(self.stage.delay_s(), self.box.put, event)

    def heard(self, verb: str, ordinal: int) -> int:
        attempt = self.attempt.get(ordinal, 0)
        self.stage.log.append((verb, ordinal, attempt))
        return attempt

    async def ping(self) -> None:
        if self.stuck:
            await anyio.sleep_forever()

    async def events(self) -> AsyncIterator[Sequence[Any]]:
        while True:
            batch = await self.box.take_all()
            if not batch:
                raise PeerLost(self.name, "its process is gone")
            yield batch

    def ended_on_disk(self, ordinal: int) -> bool:
        """Whether the current attempt of a trial has a line about its end that is synced."""
        ends = {"scored", "unreadable", "infrastructure", "failed"}
        key, attempt = self.stage.plan.key(ordinal), self.attempt[ordinal]
        return any(line[0] in ends and line[1:] == (key, attempt) for line in self.stage.files.synced)


class ScriptedWorker(Scripted):
    """Opens, runs and closes by the script; checks that nothing comes too early."""

    async def post(self, orders: WorkerOrders) -> None:
        for ordinal in orders.close:
            self.heard("close", ordinal)
            durable = ordinal not in self.attempt or self.ended_on_disk(ordinal)
            assert self.stage.draining or durable, "closed before the end was durable"
        for trial in orders.lease:
            self.attempt[trial.ordinal] = trial.attempt
            self.heard("lease", trial.ordinal)
            self._open(trial.ordinal, trial.attempt)
        for ordinal in orders.go:
            self._run(ordinal, self.heard("go", ordinal))
        if orders.halt:
            self.stage.log.append(("halt", -1, -1))

    def _open(self, ordinal: int, attempt: int) -> None:
        how = self.stage.script(ordinal, attempt)
        if how == "open":
            self.tell(Failed(ordinal, attempt, Cause.PROVIDER, "no fixture"))
        elif how != "silent":
            self.tell(Opened(ordinal, attempt, ReadPath("snapshot", True, {"fixture": ordinal})))

    def _run(self, ordinal: int, attempt: int) -> None:
        assert (ordinal, attempt) in self.stage.ready, "the arm would run before its baseline is read"
        how = self.stage.script(ordinal, attempt)
        if how == "arm":
            self.tell(Failed(ordinal, attempt, Cause.PROVIDER, "the service is down"))
        elif how != "hangs":
            self.stage.finished.add((ordinal, attempt))
            self.tell(Finished(ordinal, attempt, {"said": ordinal}, None, "", "begun", "ended", 0.5))


class ScriptedOracle(Scripted):
    """Reads by the script; checks that nothing comes too early."""

    async def post(self, orders: OracleOrders) -> None:
        for ordinal in orders.forget:
            self.heard("forget", ordinal)
        for before in orders.before:
            ordinal, attempt = before.ordinal, before.attempt
            self.attempt[ordinal] = attempt
            self.heard("before", ordinal)
            if self.stage.script(ordinal, attempt) == "baseline":
                self.tell(Unread(ordinal, attempt, 2, "no baseline"))
            elif self.stage.script(ordinal, attempt) != "waits":
                self.stage.ready.add((ordinal, attempt))
                self.tell(Ready(ordinal, attempt))
        for after in orders.after:
            ordinal, attempt = after.ordinal, after.attempt
            self.heard("after", ordinal)
            assert (ordinal, attempt) in self.stage.finished, "the record would be read before its arm is done"
            if self.stage.script(ordinal, attempt) == "unread":
                self.tell(Unread(ordinal, attempt, 5, "no answer"))
            else:
                self.tell(Judged(ordinal, attempt, 1, True, "read", {"label": "success"}, ["seen"]))


@pytest.fixture(scope="session")
def stage(clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Stage]:
    """Makes a stage with a folder of its own."""

    def make(**settings: Any) -> Stage:
        return Stage(tmp_path_factory.mktemp("stage"), clock, **settings)

    return make
