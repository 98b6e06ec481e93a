"""Row 14: a record that cannot be read N times costs reads and no verdict up to the limit; beyond it, it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, Final

import anyio
import orjson
import pytest

from oracle.base import ChannelContext
from oracle.channels.snapshot import SnapshotChannel
from oracle.effect import EffectOracle
from oracle.retry import RetryPolicy
from oracle.service import OracleService
from spec.clock import Clock
from spec.messages import Judged, OracleEvent, OracleOrders, ReadAfter, ReadBefore, Ready, Unread
from spec.reading import ReadPath
from tests.faults.card import CardOfTest
from tests.oracle.effect.test_side import BEFORE, DROPPED, RIGHT, SAID, SCHEMA, TASK

ROW: Final = (14, "oracle unreadable for N reads")
POLICY: Final = RetryPolicy(read_attempts=5, read_deadline_s=30)
TRIES: Final = range(POLICY.read_attempts + 1)
"""N = 0 ... max + 1, where max is one less than the attempts."""

BASELINE_S: Final = 600.0
FOREVER_S: Final = 3600.0
SLOW_S: Final = 2.0
VALUES: Final = {"text": "hello"}

Answer = Callable[[], Any]


def _raising() -> bytes:
    raise ConnectionResetError("the connection was reset")


async def _timing_out() -> bytes:
    await anyio.sleep(SLOW_S)
    raise TimeoutError("the database did not answer")


def _junk(data: object) -> Answer:
    return lambda: data


BAD: Final[dict[str, Answer]] = {
    "raising": _raising,
    "timing out": _timing_out,
    "nothing": _junk(b""),
    "half": _junk(b'{"0":{"tables":{"notes":['),
    "noise": _junk(bytes(range(256))),
    "no object": _junk(b"[]"),
    "not bytes": _junk(7),
    "another record": _junk(b'{"1":{"tables":{"notes":[]}}}'),
    "an error": _junk(b'{"0":{"error":"locked"}}'),
    "no rows": _junk(b'{"0":{"tables":{"notes":7}}}'),
    "no table": _junk(b'{"0":{"tables":{}}}'),
    "a row that is none": _junk(b'{"0":{"tables":{"notes":[7]}}}'),
    "an id twice": _junk(b'{"0":{"tables":{"notes":[{"id":1,"who":"p1"},{"id":1,"who":"p1"}]}}}'),
}
"""What a reading can be that is none."""

JUDGED_AS_NONE: Final = ("no table", "a row that is none", "an id twice")
"""Those that only the judge refuses; the channel refuses the others."""


def good(tables: object) -> Answer:
    return _junk(orjson.dumps({"0": {"tables": tables}}))


class Reader:
    """A worker that answers by a script; its last answer lasts.

    Attributes:
        reads: how often it was asked.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers: Iterator[Answer] = chain(answers, repeat(answers[-1]))
        self.reads = 0

    async def fetch(self, worker: str, places: Sequence[int]) -> bytes:
        self.reads += 1
        given = next(self._answers)()
        answer: bytes = await given if hasattr(given, "__await__") else given
        return answer


def events_of(clock: Clock, reader: Reader, *, final: bool) -> Callable[[], Any]:
    """One trial with the real oracle side, channel and service; its events until nothing more can come."""

    async def main() -> list[OracleEvent]:
        service = OracleService(
            side=EffectOracle({TASK.task_id: TASK}, SCHEMA),
            channels=lambda name: SnapshotChannel(ChannelContext(reader.fetch, clock, {})),
            policy=POLICY,
            baseline_s=BASELINE_S,
            time=clock,
        )
        path = ReadPath("snapshot", final, {"worker": "w", "fixture": 0})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(service.serve)
            service.post(OracleOrders(before=[ReadBefore(7, 1, "a::t::t0", TASK.task_id, VALUES, path)]))
            events = await service.events()
            if isinstance(events[0], Ready):
                service.post(OracleOrders(after=[ReadAfter(7, 1, SAID)]))
                events += await service.events()
            with anyio.move_on_after(FOREVER_S):
                events += await service.events()
            tasks.cancel_scope.cancel()
        return events

    return main


def problems_after(events: Sequence[OracleEvent], undisturbed: Judged, bad_reads: int) -> list[str]:
    """What a trial's events say that they must not, where its reading after the arm failed so often."""
    if len(events) != 2:
        return [f"I4: {len(events) - 1} ends instead of one"]
    end = events[1]
    if bad_reads < POLICY.read_attempts:
        expected = undisturbed._replace(reads=undisturbed.reads + bad_reads)
        return [] if end == expected else [f"I4: {end} and not {expected}"]
    if not isinstance(end, Unread):
        return [f"I4: {end} without a reading"]
    return [] if end.reads == POLICY.read_attempts and end.reason else [f"I4: {end.reads} reads, {end.reason!r}"]


@pytest.mark.parametrize("tables", [RIGHT, DROPPED], ids=["right", "wrong"])
def test_up_to_the_limit_the_verdict_stays_and_beyond_it_there_is_none(
    card: CardOfTest, virtual: Callable[..., Any], clock: Clock, tables: Any
) -> None:
    """For every way of failing and every N, a trial is judged after N + 1 reads as if nothing had been, or is unread.

    A final record shows it read by read; what a live one does with its sequences is row 15.
    """
    row = card.row(*ROW)
    undisturbed = virtual(events_of(clock, Reader([good(BEFORE), good(tables)]), final=True))[1]
    for name, bad in BAD.items():
        for number in TRIES:
            reader = Reader([good(BEFORE), *repeat(bad, number), good(tables)])
            events = virtual(events_of(clock, reader, final=True))
            found = problems_after(events, undisturbed, number)
            found += [] if reader.reads == 1 + events[-1].reads else [f"{reader.reads} reads, told {events[-1].reads}"]
            row.trial(1)
            row.inject(number)
            row.violations([f"{name} x {number}: {problem}" for problem in found])


def test_a_baseline_is_read_again_too(card: CardOfTest, virtual: Callable[..., Any], clock: Clock) -> None:
    """Before the arm the same limit holds: with a baseline after N failures the trial is ready, without one unread."""
    row = card.row(*ROW)
    for name, bad in BAD.items():
        if name in JUDGED_AS_NONE:  # a reading that only the judge refuses is refused after the arm
            continue
        for number in TRIES:
            reader = Reader([*repeat(bad, number), good(BEFORE), good(RIGHT)])
            events = virtual(events_of(clock, reader, final=True))
            readable = number < POLICY.read_attempts
            expected = [Ready, Judged] if readable else [Unread]
            row.trial(1)
            row.inject(number)
            if [type(event) for event in events] != expected:
                row.violations([f"{name} x {number}: {events}"])


def test_a_baseline_that_only_the_judge_can_refuse_is_no_baseline(
    card: CardOfTest, virtual: Callable[..., Any], clock: Clock
) -> None:
    """Where the reading before the arm turns out to be junk, the trial is unread however good the one after is."""
    row = card.row(*ROW)
    for name in JUDGED_AS_NONE:
        events = virtual(events_of(clock, Reader([BAD[name], good(RIGHT)]), final=True))
        row.trial(1)
        row.inject(1)
        if [type(event) for event in events] != [Ready, Unread]:
            row.violations([f"{name}: {events}"])


def test_readings_that_hang_are_bounded_by_time(card: CardOfTest, virtual: Callable[..., Any], clock: Clock) -> None:
    """A read without an answer ends after read_deadline_s, and no read is started later than that behind the first."""
    row = card.row(*ROW)
    undisturbed = virtual(events_of(clock, Reader([good(BEFORE), good(RIGHT)]), final=True))[1]

    async def hang() -> bytes:
        await anyio.sleep_forever()
        raise AssertionError

    for number in (1, 2):
        events = virtual(events_of(clock, Reader([good(BEFORE), *repeat(hang, number), good(RIGHT)]), final=True))
        row.trial(1)
        row.inject(number)
        if number == 1:
            row.violations(problems_after(events, undisturbed, number))
        elif not isinstance(events[1], Unread) or events[1].reads != number:
            row.violations([f"{number} hanging reads: {events}"])
