"""Whatever befalls a run, in whatever order, nothing that was acknowledged is lost and every trial ends exactly once.

The driver is the real one, with its journal; workers, oracle, clock and disk are the test's. Hypothesis draws what
befalls them: losses, silences, newcomers, pauses, changed bounds, drains, crashes that lose what was not synced, disks
that fill up. The invariants hold after each step; at the end everything is mended and the run comes to its end.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Final
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from orchestrator.engine.driver import Driver
from spec.errors import JournalUnwritable, RunIncomplete
from spec.groups import leaves
from tests.conftest import LoopClock, VirtualLoop, at_once
from tests.orchestrator.engine.stage import ScriptedWorker, Stage, SyncedFiles

TERMINAL: Final = {"scored", "unreadable", "infrastructure", "cancelled"}
WAYS: Final = ("good", "good", "good", "open", "baseline", "arm", "unread", "kills", "hangs", "silent")
ENDS: Final = (JournalUnwritable, RunIncomplete)
LONG_S: Final = 100_000.0


class CrashingFiles(SyncedFiles):
    """A disk that keeps, at a crash, what was synced and as much of the rest as somebody draws.

    Attributes:
        full: whether writes fail.
    """

    def __init__(self) -> None:
        super().__init__()
        self.full = False

    def write(self, descriptor: int, data: bytes) -> int:
        self._refuses_from = 1 if self.full else 0
        return super().write(descriptor, data)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        super().truncate(descriptor, size_bytes)
        self._unsynced = b""

    def crash(self, path: Path, kept: float) -> None:
        """Lose part of what is not on the disk."""
        whole = path.read_bytes()
        lost = len(self._unsynced) - int(kept * len(self._unsynced))
        path.write_bytes(whole[: len(whole) - lost])
        self._unsynced = self._unsynced[: len(self._unsynced) - lost]
        if not self._unsynced.endswith(b"\n"):  # what is torn is cut by the next session
            self._unsynced = self._unsynced[: self._unsynced.rfind(b"\n") + 1]


class DriverMachine(RuleBasedStateMachine):
    """One run over several sessions.

    Attributes:
        runs, befallen: how many runs there were so far, and how many faults befell them.
    """

    runs: ClassVar[int] = 0
    befallen: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="machine-")
        self.threads = patch("anyio.to_thread.run_sync", at_once)
        self.threads.start()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.task: asyncio.Task[None] | None = None

    @initialize(
        seed=st.integers(0, 2**32),
        trials=st.integers(1, 12),
        workers=st.integers(1, 3),
        in_flight=st.integers(1, 6),
    )
    def begin(self, seed: int, trials: int, workers: int, in_flight: int) -> None:
        """A run of two arms, whose every attempt goes as it is drawn."""
        DriverMachine.runs += 1
        self.draw = random.Random(seed)
        self.stage = Stage(
            Path(self.folder.name),
            LoopClock(),
            trials=trials,
            arms=("a", "b"),
            workers=workers,
            in_flight=in_flight,
            attempts=4,
            losses_max=1_000,
            open_s=60.0,
            baseline_s=60.0,
            read_s=60.0,
            deadlines_s={"a": 60.0, "b": 60.0},
            drain_s=5.0,
        )
        self.stage.files = CrashingFiles()
        self.mended = False
        self.ran_at_most = 0
        ways: dict[tuple[int, int], str] = {}

        def way(ordinal: int, attempt: int) -> str:
            return "good" if self.mended else ways.setdefault((ordinal, attempt), self.draw.choice(WAYS))

        self.stage.script = way
        self.stage.delay_s = lambda: self.draw.choice((0.0, 0.01, 1.0))
        self.stage.twice = lambda: self.draw.random() < 0.05
        self.run(self.session)

    def run(self, step: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            await step()
            await asyncio.sleep(0)

        self.runner.run(main())

    def act(self, deed: Callable[[], object]) -> None:
        """Do something on the loop, where everything else happens."""

        async def main() -> None:
            deed()

        self.run(main)

    async def session(self) -> None:
        """A driver begins, with peers of its own."""
        stage = self.stage
        stage.draining = False
        self.newcomer = asyncio.Event()
        stage.joined = self.joined
        self.driver: Driver = stage.driver()
        self.task = asyncio.get_running_loop().create_task(self.driver.run(stage))

    async def joined(self) -> ScriptedWorker:
        await self.newcomer.wait()
        self.newcomer = asyncio.Event()
        return self.stage.hire()

    @property
    def working(self) -> bool:
        return self.task is not None and not self.task.done()

    def left(self) -> None:
        """See that a session that has ended has ended for a reason that there is."""
        assert self.task is not None
        error = self.task.exception() if not self.task.cancelled() else None
        found = leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
        assert all(leaf is None or isinstance(leaf, ENDS) for leaf in found), error
        self.stage.journal.close()

    # What happens

    @rule(seconds=st.sampled_from((0.001, 0.02, 0.5, 3.0, 30.0, 200.0)))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.run(lambda: asyncio.sleep(seconds))

    @precondition(lambda self: self.working)
    @rule(which=st.integers(0, 5))
    def lose_worker(self, which: int) -> None:
        """A worker's process ends."""
        DriverMachine.befallen += 1
        self.act(self.stage.workers[which % len(self.stage.workers)].box.close)

    @precondition(lambda self: self.working)
    @rule()
    def lose_oracle(self) -> None:
        """The oracle's process ends."""
        DriverMachine.befallen += 1
        self.act(self.stage.oracle.box.close)

    @precondition(lambda self: self.working)
    @rule(which=st.integers(0, 5), held_up_s=st.sampled_from((0.0, 120.0)))
    def silence(self, which: int, held_up_s: float) -> None:
        """A worker gives no sign of life, or one of a loop that stands still."""
        DriverMachine.befallen += 1
        worker = self.stage.workers[which % len(self.stage.workers)]
        worker.stuck, worker.held_up_s = not held_up_s, held_up_s

    @precondition(lambda self: self.working)
    @rule()
    def join(self) -> None:
        """One more worker comes."""
        self.act(self.newcomer.set)

    @precondition(lambda self: self.working)
    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        """Somebody pauses the run, or lets it go on."""
        self.act(self.driver.pause if paused else self.driver.unpause)

    @precondition(lambda self: self.working)
    @rule(key=st.sampled_from(("engine.in_flight", "engine.lease_max", "arms.a.in_flight")), value=st.integers(1, 8))
    def adjust(self, key: str, value: int) -> None:
        """Somebody changes a bound."""
        self.ran_at_most = max(self.ran_at_most, self.driver.leasing.in_flight)
        self.act(lambda: self.driver.adjust(key, value))

    @precondition(lambda self: self.working)
    @rule()
    def drain(self) -> None:
        """Somebody asks for the end."""
        self.stage.draining = True
        self.act(self.driver.drain)

    @precondition(lambda self: self.working)
    @rule(kept=st.floats(0, 1))
    def crash(self, kept: float) -> None:
        """The driver is gone from one moment to the next, and part of what was not synced too."""
        DriverMachine.befallen += 1
        files, path = self.stage.files, self.stage.path
        assert isinstance(files, CrashingFiles)
        at_crash = path.read_bytes(), files._unsynced

        async def end() -> None:
            assert self.task is not None
            self.task.cancel()
            await asyncio.wait([self.task])
            if not self.task.cancelled():
                self.task.exception()

        self.stage.draining = True  # what it closes while it is cancelled, nobody hears
        synced = len(files.synced)
        self.run(end)
        self.stage.journal.close()
        path.write_bytes(at_crash[0])  # a process that is killed writes nothing more
        files._unsynced = at_crash[1]
        del files.synced[synced:]
        files.crash(path, kept)
        self.task = None

    @precondition(lambda self: not self.working)
    @rule()
    def resume(self) -> None:
        """A session ends, and the next one begins."""
        if self.task is not None:
            self.left()
        self.stage.files.full = False  # type: ignore[attr-defined]  # see begin
        self.run(self.session)

    @rule(full=st.booleans())
    def fill_disk(self, full: bool) -> None:
        """The disk is full, or has room again."""
        DriverMachine.befallen += 1
        self.stage.files.full = full  # type: ignore[attr-defined]  # see begin

    # What holds

    @invariant()
    def conserved(self) -> None:
        """Planned is the sum of its parts."""
        if self.task is not None:
            self.driver.ledger.check()

    @invariant()
    def acknowledged_is_durable(self) -> None:
        """What counts as ended has its line on the disk."""
        if self.working:
            ledger, plan = self.driver.ledger, self.stage.plan
            on_disk = {key for line_type, key, _ in self.stage.files.synced if line_type in TERMINAL}
            assert {plan.key(place) for place in range(len(plan)) if not ledger.is_owed(place)} <= on_disk

    @invariant()
    def within_permits(self) -> None:
        """No more arms run at once than the bound says; where it was lowered, none is started until they are fewer."""
        if self.working:
            bound = self.driver.leasing.in_flight
            running = sum(len(worker.running) for worker in self.stage.workers if worker.lives)
            assert running <= max(bound, self.ran_at_most)
            self.ran_at_most = running if running > bound else 0

    def teardown(self) -> None:
        """Mend everything; the run comes to its end, and its journal tells each trial's end once."""
        try:
            if self.task is not None:
                self.finish()
        finally:
            self.runner.close()
            self.threads.stop()
            self.folder.cleanup()

    def finish(self) -> None:
        self.mended = True
        self.stage.files.full = False  # type: ignore[attr-defined]  # see begin
        for _ in range(2):
            if not self.working:
                self.resume()
            for worker in self.stage.workers:
                worker.stuck, worker.held_up_s = False, 0.0
            self.act(self.driver.unpause)
            self.run(lambda: asyncio.sleep(LONG_S))
            assert not self.working, "the run does not end"
        self.left()
        lines = self.stage.lines()
        ends = Counter(line["key"] for line in lines if line["type"] in TERMINAL)
        assert ends == {self.stage.plan.key(place): 1 for place in range(len(self.stage.plan))}
        for place in range(len(self.stage.plan)):
            tried = [
                line["attempt"]
                for line in lines
                if line["type"] == "lease" and self.stage.plan.key(place) in line["keys"]
            ]
            assert tried == sorted(set(tried))


DriverMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestDriverMachine = DriverMachine.TestCase
