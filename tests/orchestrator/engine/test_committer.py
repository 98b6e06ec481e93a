"""Lines of many trials share one sync, and nobody is told before it has returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from orchestrator.engine.committer import Committer, Entry
from orchestrator.journal import LineType
from spec.canonical import JsonObject
from spec.clock import Clock
from spec.errors import JournalUnwritable


class SlowJournal:
    """Takes a second for a commit; refuses from the n-th one on.

    Attributes:
        groups: keys of each commit that succeeded.
    """

    def __init__(self, refuses_from: int = 1000) -> None:
        self.groups: list[list[str]] = []
        self._open: list[str] = []
        self._size = 0
        self._refuses_from = refuses_from

    def append(self, line: LineType, key: str | None, body: JsonObject) -> int:
        self._open.append(str(key))
        self._size += 10
        return self._size - 10

    async def commit(self) -> None:
        group, self._open = self._open, []
        await anyio.sleep(1)
        if len(self.groups) + 1 >= self._refuses_from:
            raise JournalUnwritable("full")
        self.groups.append(group)


class Office:
    """A committer with what it acknowledged, by key, and when."""

    def __init__(self, journal: SlowJournal, clock: Clock) -> None:
        self.journal, self._clock = journal, clock
        self.offsets: dict[str, int] = {}
        self.rounds: list[tuple[float, int]] = []
        taken: Any = journal
        self.committer = Committer(taken, group_commit_s=lambda: 0.5, clock=clock, acknowledged=self._round)

    def _round(self) -> None:
        self.rounds.append((self._clock.monotonic(), len(self.offsets)))

    def add(self, *keys: str) -> None:
        for key in keys:
            self.committer.add(Entry(LineType.SCORED, key, {}, self._acknowledge(key)))

    def _acknowledge(self, key: str) -> Callable[[int], None]:
        def committed(offset_bytes: int) -> None:
            assert any(key in group for group in self.journal.groups), "told before the sync"
            self.offsets[key] = offset_bytes

        return committed


@pytest.mark.anyio
async def test_lines_gather_and_are_acknowledged_together(clock: Clock) -> None:
    """What comes within the gathering time, or during a sync, shares a group; offsets go to the right callers."""
    office = Office(SlowJournal(), clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(office.committer.serve)
        began = clock.monotonic()
        office.add("a")
        await anyio.sleep(0.4)
        office.add("b")
        await anyio.sleep(0.8)
        office.add("c", "d")
        await anyio.sleep(10)
        tasks.cancel_scope.cancel()
    assert office.journal.groups == [["a", "b"], ["c", "d"]]
    assert office.offsets == {"a": 0, "b": 10, "c": 20, "d": 30}
    assert [(round(at - began, 6), count) for at, count in office.rounds] == [(1.5, 2), (3.0, 4)]


@pytest.mark.anyio
async def test_after_a_refusal_nothing_is_acknowledged(clock: Clock) -> None:
    """The group that the disk refuses is told to nobody, and the error comes out."""
    office = Office(SlowJournal(refuses_from=2), clock)

    async def add_two_groups() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(office.committer.serve)
            office.add("a")
            await anyio.sleep(5)
            office.add("b")
            await anyio.sleep(5)

    with pytest.raises(ExceptionGroup) as caught:
        await add_two_groups()
    assert caught.group_contains(JournalUnwritable)
    assert office.offsets == {"a": 0}
    assert len(office.rounds) == 1


@pytest.mark.anyio
async def test_a_sync_that_has_begun_is_carried_through(clock: Clock) -> None:
    """An end during a sync waits for it, and its lines are acknowledged; what came later is not written."""
    office = Office(SlowJournal(), clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(office.committer.serve)
        office.add("a")
        await anyio.sleep(1)
        office.add("b")
        tasks.cancel_scope.cancel()
    assert list(office.offsets) == ["a"]
    await office.committer.flush()
    assert list(office.offsets) == ["a", "b"]


@pytest.mark.anyio
async def test_flushing_nothing_does_nothing(clock: Clock) -> None:
    """Without lines there is no sync and nobody is told."""
    office = Office(SlowJournal(), clock)
    await office.committer.flush()
    assert (office.journal.groups, office.rounds) == ([], [])


@pytest.mark.anyio
async def test_a_line_that_nobody_waits_for_is_written_too(clock: Clock) -> None:
    """A note goes with its group; acknowledging it needs no caller."""
    office = Office(SlowJournal(), clock)
    office.committer.add(Entry(LineType.NOTE, "n", {"text": "x"}))
    await office.committer.flush()
    assert office.journal.groups == [["n"]]
    assert len(office.rounds) == 1
