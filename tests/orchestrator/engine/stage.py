"""A driver on a stage: its journal is real, its workers and oracles answer by a script, and its time is the test's."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import orjson

from oracle.base import Judgement
from orchestrator.engine.driver import Driver
from orchestrator.engine.lanes import Lanes
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.rules import Rules
from orchestrator.files import OsFiles
from orchestrator.history import JOURNAL_NAME, read_history
from orchestrator.journal import Journal, recover
from orchestrator.kinds.base import Execution
from orchestrator.ledger import Ledger
from orchestrator.plan import Plan
from spec.canonical import JsonObject
from spec.clock import Clock
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
    Returned,
    Settled,
    Unread,
    WorkerOrders,
)
from spec.reading import ReadPath
from spec.trial import Payload, Trial


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


RULES = Rules(
    attempts=3,
    drain_s=30.0,
    group_commit_s=0.005,
    stall_report_s=0.0,
    heartbeat_s=2.0,
    losses_max=3,
    open_s=3600.0,
    baseline_s=3600.0,
    deadlines_s={},
    read_s=3600.0,
    isolation={},
)


class Stage:
    """A driver with its journal, and peers that answer by a script.

    Attributes:
        script: (ordinal, attempt) -> how the attempt goes: "good", "open", "baseline", "arm" or "unread" for the
            place where it fails, "silent" for no answer to the lease, "waits" for none to the baseline,
            "hangs" for none to the go, "broods" for none to the reading after, "kills" for the end of the worker
            instead of one.
        channel: of the read paths; "snapshot" is in the worker.
        sick: names of workers in which no fixture opens.
        at_death: called with a worker that an arm kills.
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
        lease_max: int = 0,
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
        self._in_flight, self._lease_max = in_flight, lease_max or in_flight
        own = {"isolation": dict.fromkeys(arms, "in-process"), "deadlines_s": dict.fromkeys(arms, 3600.0)}
        self.rules = replace(RULES, **{**own, **rules})
        self._crew_size = workers
        self.muster()
        self.broken = self.draining = False
        self.ledger, self.leases = Ledger(self.plan), 0
        self.joined: Any = anyio.sleep_forever
        self.channel, self.sick = "snapshot", set[str]()
        self.at_death: Callable[[ScriptedWorker], None] = lambda worker: None
        self.node_of: Callable[[str], str] = lambda name: ""
        self.ready: set[tuple[int, int]] = set()
        self.finished: set[tuple[int, int]] = set()

    def driver(self) -> Driver:
        """A driver that begins, or goes on with what the journal says."""
        if self.path.exists():
            self.muster()
            history = read_history(self.path, self.plan)
            self.ledger, self.leases = history.ledger, history.leases
            self.journal = Journal.resume(self.path, history.recovered, clock=self.clock, files=self.files)
        else:
            self.journal = Journal.create(self.path, {"run_id": "r"}, clock=self.clock, files=self.files)
        side: Any = NumberSide()
        leasing = Leasing(
            plan=self.plan, ledger=self.ledger, in_flight=self._in_flight, limits={}, lease_max=self._lease_max
        )
        return Driver(
            plan=self.plan,
            ledger=self.ledger,
            leasing=leasing,
            journal=self.journal,
            side=side,
            not_reported=lambda fault, detail: {"fault": fault, "detail": detail},
            payload=lambda task, trial: self.payload(task, trial),
            trial_digest=lambda ordinal, seed: f"digest {ordinal} {seed}",
            rules=self.rules,
            clock=self.clock,
            notice=self.notices.append,
            leases=self.leases,
        )

    def muster(self) -> None:
        """Peers that know of nothing yet, as each session has them."""
        self.workers = [ScriptedWorker(f"worker-{place}", self) for place in range(self._crew_size)]
        self.oracles = [ScriptedOracle("oracle-0", self)]

    async def run(self) -> None:
        await self.driver().run(self)

    @property
    def oracle(self) -> ScriptedOracle:
        return self.oracles[-1]

    async def another_worker(self, lost: Any) -> ScriptedWorker:
        lost.box.close()
        await self.clock.sleep(1.0)
        return self.hire()

    def hire(self) -> ScriptedWorker:
        """One more worker."""
        self.workers.append(ScriptedWorker(f"worker-{len(self.workers)}", self))
        return self.workers[-1]

    async def another_oracle(self, lost: Any) -> ScriptedOracle:
        lost.box.close()
        await self.clock.sleep(1.0)
        self.oracles.append(ScriptedOracle(f"oracle-{len(self.oracles)}", self))
        return self.oracles[-1]

    async def lost_with(self, name: str) -> str:
        return self.node_of(name)

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
        self.held_up_s = 0.0
        self.at_work: set[int] = set()

    def tell(self, event: Any, how: Callable[[Any], None] | None = None) -> None:
        """Answer after the script's delay, perhaps twice."""
        loop = asyncio.get_running_loop()
        for _ in range(1 + self.stage.twice()):
            loop.call_later(self.stage.delay_s(), how or self.box.put, event)

    def heard(self, verb: str, ordinal: int) -> int:
        attempt = self.attempt.get(ordinal, 0)
        self.stage.log.append((verb, ordinal, attempt))
        return attempt

    @property
    def lives(self) -> bool:
        """Whether its process has not ended."""
        return not self.box.closed

    async def ping(self) -> float:
        if self.stuck:
            await anyio.sleep_forever()
        return self.held_up_s

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


class _Ready(NamedTuple):
    arm: str
    ordinal: int
    attempt: int


class ScriptedWorker(Scripted):
    """Opens, runs within its permits and closes by the script; checks that nothing comes too early.

    Attributes:
        running: the trials whose arms run.
    """

    def __init__(self, name: str, stage: Stage) -> None:
        super().__init__(name, stage)
        self._lanes: Lanes[_Ready] = Lanes(stage.plan.arms)
        self.running: dict[int, _Ready] = {}
        self._settle = 0

    async def post(self, orders: WorkerOrders) -> None:
        if orders.permits is not None:
            self._lanes.allow(orders.permits)
        self._settle = orders.settle or self._settle
        self._tell_settled()
        for ordinal in orders.close:
            self.heard("close", ordinal)
            self.at_work.discard(ordinal)
            ready = self.running.pop(ordinal, None)
            if ready is not None:  # a fixture that closes takes its arm along
                self._lanes.done(ready.arm)
                self._tell_settled()
            durable = ordinal not in self.attempt or self.ended_on_disk(ordinal)
            assert self.stage.draining or durable, "closed before the end was durable"
        for trial in orders.lease:
            self.attempt[trial.ordinal] = trial.attempt
            self.heard("lease", trial.ordinal)
            self._open(trial.ordinal, trial.attempt)
        for ordinal in orders.go:
            attempt = self.heard("go", ordinal)
            assert (ordinal, attempt) in self.stage.ready, "the arm would run before its baseline is read"
            self._lanes.add(_Ready(self.stage.plan.arms[self.stage.plan.arm_of(ordinal)], ordinal, attempt))
        if orders.halt:
            self.stage.log.append(("halt", -1, -1))
            for ready in self._lanes.clear():
                self.box.put(Returned(ready.ordinal, ready.attempt))
        self._start()

    def _tell_settled(self) -> None:
        if self._settle and self._lanes.settled:
            self.box.put(Settled(self._settle))
            self._settle = 0

    def _start(self) -> None:
        while (ready := self._lanes.take()) is not None:
            self.running[ready.ordinal] = ready
            self._run(ready.ordinal, ready.attempt)

    def _end(self, event: Any) -> None:
        """An arm is done: the next one starts at once, and the driver hears of it later."""
        ready = self.running.pop(event.ordinal, None)
        if ready is not None:
            self._lanes.done(ready.arm)
            self._tell_settled()
        self.box.put(event)
        self._start()

    def _open(self, ordinal: int, attempt: int) -> None:
        how = self.stage.script(ordinal, attempt)
        self.at_work.add(ordinal)
        if how == "open" or self.name in self.stage.sick:
            self.tell(Failed(ordinal, attempt, Cause.PROVIDER, "no fixture"))
        elif how != "silent":
            self.tell(Opened(ordinal, attempt, ReadPath(self.stage.channel, True, {"fixture": ordinal})))

    def _run(self, ordinal: int, attempt: int) -> None:
        how = self.stage.script(ordinal, attempt)
        if how == "arm":
            self.tell(Failed(ordinal, attempt, Cause.PROVIDER, "the service is down"), self._end)
        elif how == "kills":
            self.stage.at_death(self)
            self.stage.finished.add((ordinal, attempt))  # a record elsewhere may be read
            self.box.close()
        elif how != "hangs":
            self.stage.finished.add((ordinal, attempt))
            self.tell(Finished(ordinal, attempt, {"said": ordinal}, None, "", "begun", "ended", 0.5), self._end)


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
            elif self.stage.script(ordinal, attempt) != "broods":
                self.tell(Judged(ordinal, attempt, 1, True, "read", {"label": "success"}, ["seen"]))
