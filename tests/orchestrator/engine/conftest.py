"""What the tests of the engine share: a worker with a small provider, and peers that do what they are told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson
import pytest

from arms.loading import is_blocking
from orchestrator.engine.worker import HostedArm, Worker, WorkerLimits
from orchestrator.kinds.effect.worker import EffectWorker
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.contract import Effect, EffectKind
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.messages import (
    WorkerEvent,
    WorkerOrders,
)
from spec.reading import ReadPath, RecordSchema
from spec.task import Category, OracleSpec, Task
from spec.trial import Payload, Trial
from tests.orchestrator.engine.stage import Stage

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
        ended: set when it has ended.
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
        self.ended = anyio.Event()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The worker works inside of this block."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.worker.serve)
            tasks.start_soon(self._listen)
            yield
            tasks.cancel_scope.cancel()

    async def _listen(self) -> None:
        while batch := await self.worker.events():
            self.events += batch
            self._news.set()
            self._news = anyio.Event()
        self.ended.set()

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


@pytest.fixture(scope="session")
def stage(clock: Clock, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Stage]:
    """Makes a stage with a folder of its own."""

    def make(**settings: Any) -> Stage:
        return Stage(tmp_path_factory.mktemp("stage"), clock, **settings)

    return make
