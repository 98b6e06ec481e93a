"""The oracle at work: reads baselines, reads again after the arm, judges, and answers in events.

It knows neither Ray nor a kind. Requests come in batches; a channel that can read many records at once gets them
together, and what has to be repeated, polled or settled goes on in a task of its own, so that no trial waits for the
slowest of its batch. It prints nothing: whatever an oracle prints is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from oracle.base import Channel, Judgement, OracleSide, ReadFailed, Subject, Timekeeper
from oracle.reading import read_until_readable, settle_reading
from oracle.retry import RetryPolicy
from spec.canonical import JsonObject
from spec.mailbox import Mailbox
from spec.messages import Judged, OracleEvent, OracleOrders, ReadAfter, ReadBefore, Ready, Unread
from spec.reading import ReadPath, Tables
from spec.text import clean, describe

SLOW_READS_MAX: Final = 256
"""Readings that are repeated, polled or settled at once."""


class _Watch:
    """One trial that the oracle looks at."""

    __slots__ = ("attempt", "baseline_due", "before", "ordinal", "path", "report", "subject")

    def __init__(self, request: ReadBefore, baseline_due: float) -> None:
        self.baseline_due = baseline_due
        self.ordinal, self.attempt, self.path = request.ordinal, request.attempt, request.read_path
        self.subject = Subject(request.key, request.task_id, request.params, request.read_path.channel)
        self.before: Tables | None = None
        self.report: JsonObject = {}


class OracleService:
    """Reads and judges; see the module.

    Args:
        side: the kind's oracle side, which holds the gold.
        channels: opens the channel of a name, or says None; called once a name.
        policy: how often and how long an unreadable record is read again.
        baseline_s: seconds from the request in which the reading before the arm must be there.
        time: where time comes from.
    """

    def __init__(
        self,
        *,
        side: OracleSide,
        channels: Callable[[str], Channel | None],
        policy: RetryPolicy,
        baseline_s: float,
        time: Timekeeper,
    ) -> None:
        self._side, self._open_channel, self._policy, self._time = side, channels, policy, time
        self._baseline_s = baseline_s
        self._channels: dict[str, Channel] = {}
        self._inbox: Mailbox[OracleOrders] = Mailbox()
        self._outbox: Mailbox[OracleEvent] = Mailbox()
        self._watched: dict[int, _Watch] = {}
        self._slow = anyio.CapacityLimiter(SLOW_READS_MAX)

    async def serve(self) -> None:
        """Work until cancelled; then give the channels' connections back."""
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    for orders in await self._inbox.take_all():
                        self._take(orders, tasks)
        finally:
            self._outbox.close()
            with anyio.move_on_after(self._policy.read_deadline_s, shield=True):
                for channel in self._channels.values():
                    with suppress(Exception):  # everything is judged by now
                        await channel.close()

    def post(self, orders: OracleOrders) -> None:
        """Take orders; never waits."""
        self._inbox.put(orders)

    async def events(self, coalesce_s: float = 0.0) -> list[OracleEvent]:
        """What happened since the last call; waits for the first event. Empty once the work has ended."""
        return await self._outbox.take_all(coalesce_s)

    def _take(self, orders: OracleOrders, tasks: TaskGroup) -> None:
        for ordinal in orders.forget:
            self._watched.pop(ordinal, None)
        before = [self._watch(request) for request in orders.before]
        after = [watch for request in orders.after if (watch := self._resume(request)) is not None]
        for channel, watches in self._by_channel(before).items():
            self._start(tasks, channel, watches, baseline=True)
        for channel, watches in self._by_channel(after).items():
            self._start(tasks, channel, watches, baseline=False)

    def _watch(self, request: ReadBefore) -> _Watch:
        watch = self._watched[request.ordinal] = _Watch(request, anyio.current_time() + self._baseline_s)
        return watch

    def _resume(self, request: ReadAfter) -> _Watch | None:
        watch = self._watched.get(request.ordinal)
        if watch is None or watch.attempt != request.attempt:
            reason = "this oracle has no baseline of the trial"
            self._outbox.put(Unread(request.ordinal, request.attempt, 0, reason))
            return None
        watch.report = request.report
        return watch

    def _by_channel(self, watches: Sequence[_Watch]) -> dict[str, list[_Watch]]:
        groups: dict[str, list[_Watch]] = {}
        for watch in watches:
            groups.setdefault(watch.path.channel, []).append(watch)
        return groups

    def _channel(self, name: str) -> Channel | ReadFailed:
        """The channel of a name, opened once, or why there is none."""
        if name in self._channels:
            return self._channels[name]
        try:
            channel = self._open_channel(name)
        except Exception as error:  # noqa: BLE001 - a channel that cannot be opened leaves its records unknown
            return ReadFailed(describe(error, f"channel {name!r} cannot be opened"))
        if channel is None:
            return ReadFailed(f"no channel is called {name!r}")
        self._channels[name] = channel
        return channel

    def _start(self, tasks: TaskGroup, name: str, watches: list[_Watch], *, baseline: bool) -> None:
        channel = self._channel(name)
        if isinstance(channel, ReadFailed):
            for watch in watches:
                self._unread(watch, 0, channel.reason)
        elif channel.batches:
            together = [watch for watch in watches if baseline or watch.path.final]
            alone = [watch for watch in watches if not (baseline or watch.path.final)]
            if together:
                tasks.start_soon(partial(self._read_together, tasks, channel, together, baseline=baseline))
            for watch in alone:
                tasks.start_soon(self._settle, channel, watch)
        else:
            read = self._read_baseline if baseline else self._settle
            for watch in watches:
                tasks.start_soon(read, channel, watch)

    async def _read_together(
        self, tasks: TaskGroup, channel: Channel, watches: Sequence[_Watch], *, baseline: bool
    ) -> None:
        """Read many records once; what is not readable goes on alone."""
        deadline = min(watch.baseline_due for watch in watches) if baseline else math.inf
        answers = await self._read(channel, [watch.path for watch in watches], deadline)
        for watch, answer in zip(watches, answers, strict=True):
            if baseline:
                if isinstance(answer, ReadFailed):
                    tasks.start_soon(self._read_baseline, channel, watch, answer)
                else:
                    self._keep_baseline(watch, answer)
            else:
                judgement = self._judge(watch, answer)
                if judgement.readable:
                    self._answer(watch, judgement, 1)
                else:
                    tasks.start_soon(self._settle, channel, watch, answer)

    async def _read_baseline(self, channel: Channel, watch: _Watch, first: ReadFailed | None = None) -> None:
        reads = 0 if first is None else 1
        answer: Tables | ReadFailed = first or ReadFailed(f"not read within {self._baseline_s:g} s")

        async def read() -> Tables | ReadFailed:
            nonlocal reads, answer
            reads += 1
            answer = await self._read_one(channel, watch.path)
            return answer

        with anyio.CancelScope(deadline=watch.baseline_due):
            async with self._slow:
                await read_until_readable(read, self._policy, self._time, first=first)
        if isinstance(answer, ReadFailed):
            self._unread(watch, reads, f"the baseline: {answer.reason}")
        else:
            self._keep_baseline(watch, answer)

    def _keep_baseline(self, watch: _Watch, tables: Tables) -> None:
        watch.before = tables
        self._outbox.put(Ready(watch.ordinal, watch.attempt))

    async def _settle(self, channel: Channel, watch: _Watch, first: Tables | ReadFailed | None = None) -> None:
        """Read, repeat, poll and settle by the rules of ``oracle.reading``, and answer."""
        async with self._slow:
            judgement, reads = await settle_reading(
                read=partial(self._read_one, channel, watch.path),
                judge=partial(self._judge, watch),
                final=watch.path.final,
                patience=self._side.patience(watch.subject.task_id),
                policy=self._policy,
                time=self._time,
                first=first,
            )
        self._answer(watch, judgement, reads)

    def _judge(self, watch: _Watch, answer: Tables | ReadFailed) -> Judgement:
        try:
            return self._side.judge(watch.subject, watch.report, watch.before, answer)
        except Exception as error:  # noqa: BLE001 - a record that cannot be judged is unknown, never wrong
            return Judgement(False, False, describe(error, "judging failed"), {})

    def _answer(self, watch: _Watch, judgement: Judgement, reads: int) -> None:
        readable, holds, reason, body, seen = judgement
        if readable:
            self._outbox.put(Judged(watch.ordinal, watch.attempt, reads, holds, clean(reason), body, seen))
        else:
            self._unread(watch, reads, reason)

    def _unread(self, watch: _Watch, reads: int, reason: str) -> None:
        """Say that a record is unknown; a reason may come from a channel that nobody here knows."""
        self._outbox.put(Unread(watch.ordinal, watch.attempt, reads, clean(reason)))

    async def _read_one(self, channel: Channel, path: ReadPath) -> Tables | ReadFailed:
        return (await self._read(channel, [path]))[0]

    async def _read(
        self, channel: Channel, paths: Sequence[ReadPath], deadline: float = math.inf
    ) -> Sequence[Tables | ReadFailed]:
        """One reading within the policy's time, and before a deadline; whatever goes wrong is an answer."""
        limit_s = min(self._policy.read_deadline_s, max(0.0, deadline - anyio.current_time()))
        answers: Sequence[Tables | ReadFailed] | None = None
        try:
            with anyio.move_on_after(limit_s):
                answers = list(await channel.read(paths))
        except BaseException as error:  # noqa: BLE001 - a channel that fails leaves the record unknown
            await checkpoint_if_cancelled()  # raises where the cancellation is ours
            return [ReadFailed(describe(error, "the channel failed"))] * len(paths)
        if answers is None:
            return [ReadFailed(f"no answer within {limit_s:g} s")] * len(paths)
        if len(answers) != len(paths):
            return [ReadFailed(f"the channel gave {len(answers)} answers for {len(paths)} records")] * len(paths)
        return answers
