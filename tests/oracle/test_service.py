"""The oracle at work: every request gets exactly one answer, and nobody waits for somebody else's record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from oracle.base import Judgement, Patience, ReadFailed, Subject
from oracle.retry import WAIT_FIRST_S, RetryPolicy
from oracle.service import SLOW_READS_MAX, OracleService
from spec.canonical import JsonObject
from spec.clock import Clock
from spec.messages import Judged, OracleOrders, ReadAfter, ReadBefore, Ready, Unread
from spec.reading import ReadPath, Tables

POLICY = RetryPolicy(read_attempts=3, read_deadline_s=30)
BASELINE_S = 50
Answer = Tables | ReadFailed | float | BaseException
"""What a record does when it is read: tables, unreadable, seconds until it can be read, or an error."""


class ScriptedChannel:
    """Reads records by a script: for each place, what its readings do, the last one for ever.

    Attributes:
        reads: the places of each call, in order.
    """

    name = "scripted"

    def __init__(self, script: Mapping[int, Sequence[Answer]], *, batches: bool) -> None:
        self._script = {place: list(answers) for place, answers in script.items()}
        self.batches = batches
        self.reads: list[list[int]] = []
        self.closed = 0
        self.close_error: Exception | None = None
        self.answers_too_many = False

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        places: list[Any] = [path.where["place"] for path in paths]
        self.reads.append(places)
        return [await self._one(place) for place in places] + [ReadFailed("extra")] * self.answers_too_many

    async def _one(self, place: int) -> Tables | ReadFailed:
        answers = self._script.get(place, [RECORD])
        answer = answers[0] if len(answers) == 1 else answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, float):
            await anyio.sleep(answer)
            return RECORD
        return answer

    async def close(self) -> None:
        self.closed += 1
        if self.close_error is not None:
            raise self.close_error


RECORD: Tables = {"notes": [{"id": 1}]}
EMPTY: Tables = {"notes": []}
FAILED = ReadFailed("locked")


class NoteSide:
    """The contract holds where there is a note; remembers what it was asked."""

    reads_before = True

    def __init__(self) -> None:
        self.asked: list[tuple[Subject, JsonObject, Tables | None]] = []
        self.error: Exception | None = None
        self.patience_of: dict[str, Patience] = {}

    def patience(self, task_id: str) -> Patience:
        return self.patience_of.get(task_id, Patience(0, 0))

    def judge(
        self, subject: Subject, report: JsonObject, before: Tables | None, after: Tables | ReadFailed
    ) -> Judgement:
        if self.error is not None:
            raise self.error
        if isinstance(after, ReadFailed):
            return Judgement(False, False, after.reason, {})
        self.asked.append((subject, report, before))
        holds = bool(after["notes"])
        return Judgement(True, holds, "read", {"holds": holds}, None if holds else ["nothing"])


class Desk:
    """An oracle service with one channel, and everything that it told."""

    def __init__(self, clock: Clock, script: Mapping[int, Sequence[Answer]], *, batches: bool = True) -> None:
        self.channel = ScriptedChannel(script, batches=batches)
        self.side = NoteSide()
        self.opened: list[str] = []
        self.events: list[Any] = []
        self._times: list[float] = []
        self.service = OracleService(
            side=self.side, channels=self._open, policy=POLICY, baseline_s=BASELINE_S, time=clock
        )

    def _open(self, name: str) -> ScriptedChannel | None:
        self.opened.append(name)
        if name == "broken":
            raise ImportError("no driver for it")
        return self.channel if name == "scripted" else None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.service.serve)
            tasks.start_soon(self._listen)
            yield
            tasks.cancel_scope.cancel()

    async def _listen(self) -> None:
        while True:
            batch = await self.service.events()
            self.events += batch
            self._times += [anyio.current_time()] * len(batch)

    def before(self, *ordinals: int, final: bool = True, channel: str = "scripted", attempt: int = 1) -> None:
        self.service.post(
            OracleOrders(
                before=[
                    ReadBefore(
                        ordinal, attempt, f"key {ordinal}", "task", {}, ReadPath(channel, final, {"place": ordinal})
                    )
                    for ordinal in ordinals
                ]
            )
        )

    def after(self, *ordinals: int, attempt: int = 1) -> None:
        self.service.post(OracleOrders(after=[ReadAfter(ordinal, attempt, {"said": ordinal}) for ordinal in ordinals]))

    async def baselines(self, *ordinals: int, **path: Any) -> None:
        """Have baselines read, and forget that it happened."""
        self.before(*ordinals, **path)
        await anyio.wait_all_tasks_blocked()
        assert self.events == [Ready(ordinal, 1) for ordinal in ordinals]
        self.events.clear()
        self._times.clear()
        self.channel.reads.clear()

    def told_at(self, began: float) -> dict[int, float]:
        """Ordinal -> seconds until its answer."""
        return {event.ordinal: round(at - began, 3) for event, at in zip(self.events, self._times, strict=True)}


MakeDesk = Callable[..., Desk]


@pytest.fixture
def desk(clock: Clock) -> MakeDesk:
    def make(script: Mapping[int, Sequence[Answer]] | None = None, *, batches: bool = True) -> Desk:
        return Desk(clock, script or {}, batches=batches)

    return make


@pytest.mark.anyio
async def test_a_batch_is_read_in_one_go(desk: MakeDesk) -> None:
    """Baselines that come together cost one read, and so do the readings after; each trial is judged by itself."""
    at = desk({2: [RECORD, EMPTY]})
    async with at.serving():
        at.before(1, 2, 3)
        await anyio.wait_all_tasks_blocked()
        assert at.events == [Ready(1, 1), Ready(2, 1), Ready(3, 1)]
        at.after(1, 2, 3)
        await anyio.wait_all_tasks_blocked()
        assert at.channel.reads == [[1, 2, 3], [1, 2, 3]]
        assert at.events[3:] == [
            Judged(1, 1, 1, True, "read", {"holds": True}, None),
            Judged(2, 1, 1, False, "read", {"holds": False}, ["nothing"]),
            Judged(3, 1, 1, True, "read", {"holds": True}, None),
        ]
        assert at.side.asked[0] == (Subject("key 1", "task", {}, "scripted"), {"said": 1}, RECORD)
        assert at.opened == ["scripted"]


@pytest.mark.anyio
async def test_what_is_not_readable_is_read_again_alone(desk: MakeDesk) -> None:
    """One record of a batch is repeated within the policy while the others are judged at once."""
    at = desk({2: [RECORD, FAILED, FAILED, RECORD]})
    async with at.serving():
        await at.baselines(1, 2)
        at.after(1, 2)
        await anyio.sleep(WAIT_FIRST_S / 4)
        assert [event.ordinal for event in at.events] == [1]
        await anyio.sleep(10)
        assert at.events[1] == Judged(2, 1, 3, True, "read", {"holds": True}, None)
        assert at.channel.reads == [[1, 2], [2], [2]]


@pytest.mark.anyio
@pytest.mark.parametrize("batches", [True, False])
async def test_what_stays_unreadable_is_unread(desk: MakeDesk, batches: bool) -> None:
    """After read_attempts the record is unread, never wrong, with the count of reads and the last reason."""
    at = desk({1: [RECORD, FAILED]}, batches=batches)
    async with at.serving():
        await at.baselines(1)
        at.after(1)
        await anyio.sleep(60)
        assert at.events == [Unread(1, 1, 3, "locked")]
        assert at.side.asked == []


@pytest.mark.anyio
@pytest.mark.parametrize("batches", [True, False])
async def test_a_baseline_that_stays_unreadable_is_unread(desk: MakeDesk, batches: bool) -> None:
    """Without a baseline the arm must not run: the trial never becomes ready."""
    at = desk({1: [FAILED], 2: [FAILED, RECORD]}, batches=batches)
    async with at.serving():
        at.before(1, 2)
        await anyio.sleep(60)
        assert sorted(at.events) == [Unread(1, 1, 3, "the baseline: locked"), Ready(2, 1)]


@pytest.mark.anyio
async def test_a_slow_record_holds_nobody_up(desk: MakeDesk) -> None:
    """Records that are read one by one are read at once; each answer comes when its own record is there."""
    at = desk({1: [20.0], 2: [1.0], 3: [5.0]}, batches=False)
    async with at.serving():
        began = anyio.current_time()
        at.before(1, 2, 3)
        await anyio.sleep(60)
        assert at.told_at(began) == {1: 20, 2: 1, 3: 5}


@pytest.mark.anyio
async def test_a_live_record_is_polled_and_settled(desk: MakeDesk) -> None:
    """It is read until the contract holds, and once more after it has settled; a final one beside it is read once."""
    at = desk({1: [EMPTY, EMPTY, EMPTY, RECORD, RECORD], 2: [EMPTY, EMPTY]})
    at.side.patience_of["task"] = Patience(timeout_s=60, settle_s=5)
    async with at.serving():
        at.before(1, final=False)
        at.before(2)
        await anyio.wait_all_tasks_blocked()
        at.events.clear()
        at.after(1, 2)
        await anyio.wait_all_tasks_blocked()
        assert at.events == [Judged(2, 1, 1, False, "read", {"holds": False}, ["nothing"])]
        await anyio.sleep(60)
        assert at.events[1:] == [Judged(1, 1, 4, True, "read", {"holds": True}, None)]


@pytest.mark.anyio
async def test_an_unknown_channel_leaves_its_trials_unread(desk: MakeDesk) -> None:
    """Its name is told, and trials of other channels go on."""
    at = desk()
    async with at.serving():
        at.before(1, channel="telex")
        at.before(2)
        await anyio.wait_all_tasks_blocked()
        assert at.events == [Unread(1, 1, 0, "no channel is called 'telex'"), Ready(2, 1)]


@pytest.mark.anyio
async def test_a_channel_that_cannot_be_opened_leaves_its_trials_unread(desk: MakeDesk) -> None:
    """The reason is told; the oracle goes on, and tries again when it is asked again."""
    at = desk()
    async with at.serving():
        for _ in range(2):
            at.before(1, channel="broken")
            await anyio.wait_all_tasks_blocked()
            assert at.events.pop() == Unread(
                1, 1, 0, "channel 'broken' cannot be opened: ImportError: no driver for it"
            )
        await at.baselines(2)


@pytest.mark.anyio
@pytest.mark.parametrize("batches", [True, False])
@pytest.mark.parametrize("error", [OSError("reset"), SystemExit(1), KeyboardInterrupt()], ids=repr)
async def test_a_channel_that_raises_is_unreadable(desk: MakeDesk, batches: bool, error: BaseException) -> None:
    """Whatever it raises, the record is unknown for now and read again."""
    at = desk({1: [RECORD, error, RECORD], 2: [error]}, batches=batches)
    async with at.serving():
        await at.baselines(1)
        at.after(1)
        await anyio.sleep(60)
        assert at.events == [Judged(1, 1, 2, True, "read", {"holds": True}, None)]
        at.before(2)
        await anyio.sleep(60)
        assert at.events[1].reason.startswith(f"the baseline: the channel failed: {type(error).__name__}")


@pytest.mark.anyio
async def test_a_channel_cannot_pretend_that_the_oracle_was_cancelled(desk: MakeDesk) -> None:
    """A cancellation of its own making is a failed read, not the end of the trial's answer."""
    cancelled = anyio.get_cancelled_exc_class()
    at = desk({1: [RECORD, cancelled("mine"), RECORD]})
    async with at.serving():
        await at.baselines(1)
        at.after(1)
        await anyio.sleep(60)
        assert at.events == [Judged(1, 1, 2, True, "read", {"holds": True}, None)]


@pytest.mark.anyio
@pytest.mark.parametrize("batches", [True, False])
async def test_a_channel_that_hangs_is_bounded(desk: MakeDesk, batches: bool) -> None:
    """One read ends after read_deadline_s; what follows is the retry policy's."""
    at = desk({1: [RECORD, 1e6, RECORD]}, batches=batches)
    async with at.serving():
        await at.baselines(1)
        began = anyio.current_time()
        at.after(1)
        await anyio.sleep(300)
        assert at.events == [Judged(1, 1, 2, True, "read", {"holds": True}, None)]
        assert 30 <= at.told_at(began)[1] < 31


@pytest.mark.anyio
async def test_a_wrong_number_of_answers_is_no_answer(desk: MakeDesk) -> None:
    """Nobody knows which answer belongs to which record, so none is believed."""
    at = desk()
    at.channel.answers_too_many = True
    async with at.serving():
        at.before(1, 2)
        await anyio.sleep(60)
        assert {event.reason for event in at.events} == {
            "the baseline: the channel gave 2 answers for 1 records",
        }
        assert sorted(event.ordinal for event in at.events) == [1, 2]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "the channel failed: TypeError: 'NoneType' object is not iterable"),
        (7, "the channel failed: TypeError: 'int' object is not iterable"),
        (TimeoutError("its own"), "the channel failed: TimeoutError: its own"),
    ],
)
async def test_an_answer_of_no_kind_is_a_failed_read(
    desk: MakeDesk, monkeypatch: pytest.MonkeyPatch, answer: Any, reason: str
) -> None:
    """Whatever a channel gives instead of answers, its records are unknown, and the oracle goes on."""
    at = desk()

    async def read(paths: object) -> Any:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    monkeypatch.setattr(at.channel, "read", read)
    async with at.serving():
        at.before(1)
        await anyio.sleep(60)
        assert at.events == [Unread(1, 1, 3, f"the baseline: {reason}")]
        monkeypatch.undo()
        at.before(2)
        await anyio.sleep(1)
        assert at.events[1] == Ready(2, 1)


@pytest.mark.anyio
async def test_a_record_that_cannot_be_judged_is_unread(desk: MakeDesk) -> None:
    """Judging that fails is an unknown state, never a verdict."""
    at = desk()
    async with at.serving():
        await at.baselines(1)
        at.side.error = ZeroDivisionError("of what")
        at.after(1)
        await anyio.sleep(60)
        assert at.events == [Unread(1, 1, 3, "judging failed: ZeroDivisionError: of what")]


@pytest.mark.anyio
@pytest.mark.parametrize("batches", [True, False])
async def test_a_baseline_has_its_own_time(desk: MakeDesk, batches: bool) -> None:
    """However often it may be tried again, a baseline that is not there in time leaves its trial unread."""
    at = desk({1: [100.0], 2: [100.0, RECORD]}, batches=batches)
    async with at.serving():
        began = anyio.current_time()
        at.before(1)
        at.before(2)
        await anyio.sleep(BASELINE_S + 1)
        assert [type(event) for event in at.events] == [Ready, Unread]
        assert at.events[0] == Ready(2, 1)
        assert at.events[1] == Unread(1, 1, 2, "the baseline: no answer within 30 s")
        assert at.told_at(began)[1] == BASELINE_S


@pytest.mark.anyio
async def test_a_reading_without_its_baseline_is_unread(desk: MakeDesk) -> None:
    """A trial that was forgotten, never begun, or is at another attempt gets an answer at once, and no read."""
    at = desk()
    reason = "this oracle has no baseline of the trial"
    async with at.serving():
        await at.baselines(1, 2)
        at.service.post(OracleOrders(forget=[1, 77]))
        at.after(1, 3)
        at.after(2, attempt=2)
        await anyio.wait_all_tasks_blocked()
        assert at.events == [Unread(1, 1, 0, reason), Unread(3, 1, 0, reason), Unread(2, 2, 0, reason)]
        assert at.channel.reads == []


@pytest.mark.anyio
async def test_a_new_attempt_takes_the_place_of_the_old_one(desk: MakeDesk) -> None:
    """The old attempt may be forgotten in the same batch in which the new one begins."""
    at = desk()
    async with at.serving():
        await at.baselines(1)
        request = ReadBefore(1, 2, "key 1", "task", {}, ReadPath("scripted", True, {"place": 1}))
        at.service.post(OracleOrders(before=[request], forget=[1]))
        await anyio.wait_all_tasks_blocked()
        at.after(1, attempt=2)
        await anyio.wait_all_tasks_blocked()
        assert [(type(event), event.attempt) for event in at.events] == [(Ready, 2), (Judged, 2)]


@pytest.mark.anyio
async def test_readings_that_go_on_are_bounded_in_number(desk: MakeDesk) -> None:
    """More records than SLOW_READS_MAX are read in turn, and all are answered."""
    at = desk({}, batches=False)
    ordinals = range(SLOW_READS_MAX + 50)
    at.channel._script = {ordinal: [1.0] for ordinal in ordinals}
    async with at.serving():
        began = anyio.current_time()
        at.before(*ordinals)
        await anyio.sleep(10)
        times = at.told_at(began)
        assert (list(times.values()).count(1), list(times.values()).count(2)) == (SLOW_READS_MAX, 50)


@pytest.mark.anyio
@pytest.mark.parametrize("error", [None, OSError("reset")], ids=repr)
async def test_at_the_end_the_channel_is_closed_once(desk: MakeDesk, error: Exception | None) -> None:
    """Cancelling the oracle gives its connections back, even where closing fails."""
    at = desk()
    at.channel.close_error = error
    async with at.serving():
        await at.baselines(1)
        assert at.channel.closed == 0
    assert at.channel.closed == 1
