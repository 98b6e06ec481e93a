"""The writer acknowledges what is on the disk, nothing else, and nothing more after the disk has refused once."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import anyio.lowlevel
import pytest

from orchestrator.files import OsFiles
from orchestrator.journal import Journal, JournalHeadless, Line, LineReader, LineType, recover
from spec.canonical import JsonObject
from spec.clock import SystemClock
from spec.errors import InputError, JournalDamaged, JournalUnwritable

CLOCK: Final = SystemClock()
HEAD: Final[JsonObject] = {"run_id": "r"}
END: Final[JsonObject] = {"exit": 0, "conservation": {"planned": 0}}
OPERATIONS: Final = ("create", "write", "short write", "fsync", "datasync", "fsync_dir", "truncate")


class WatchedFiles(OsFiles):
    """Notes every operation, and lets the n-th of one name fail, once or from then on; syncs cost nothing.

    Args:
        name: the operation that fails; a "short write" takes half of what it is given.
        nth: which one of that name, from 1; 0 is none.
        persistent: all later operations of that name fail too.
    """

    def __init__(self, name: str = "", nth: int = 0, *, persistent: bool = False) -> None:
        self._name, self._nth, self._persistent = name, nth, persistent
        self._met = 0
        self.done: list[str] = []

    @property
    def fired(self) -> bool:
        return self._met >= self._nth > 0

    def _fails(self, name: str) -> bool:
        self._met += name == self._name
        return name == self._name and (self._met == self._nth or (self._persistent and self.fired))

    def _step(self, name: str) -> None:
        self.done.append(name)
        if self._fails(name):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def create(self, path: Path) -> int:
        self._step("create")
        return super().create(path)

    def write(self, descriptor: int, data: bytes) -> int:
        self._step("write")
        return super().write(descriptor, data[: len(data) // 2] if self._fails("short write") else data)

    def datasync(self, descriptor: int) -> None:
        self._step("datasync")

    def fsync(self, descriptor: int) -> None:
        self._step("fsync")

    def fsync_dir(self, directory: Path) -> None:
        self._step("fsync_dir")

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        self._step("truncate")
        super().truncate(descriptor, size_bytes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def _create(path: Path, files: OsFiles) -> Journal:
    return Journal.create(path, HEAD, clock=CLOCK, files=files)


def _lines(path: Path) -> list[Line]:
    lines: list[Line] = []
    recover(path, lines.append)
    return lines


def _keys(path: Path) -> list[str]:
    return [line.key for line in _lines(path) if line.key is not None]


def test_a_new_journal_is_durable_before_anything_else(path: Path) -> None:
    """When create returns, head, file and directory entry are synced, and the file is private."""
    files = WatchedFiles()
    _create(path, files).close()
    assert files.done == ["create", "write", "fsync", "fsync_dir"]
    assert [line.body() for line in _lines(path)] == [HEAD]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_journal_is_never_overwritten(path: Path) -> None:
    """Creating where a journal stands is an input error that points at resume, and leaves it alone."""
    _create(path, WatchedFiles()).close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists; `resume` goes on"):
        _create(path, WatchedFiles())
    assert path.read_bytes() == before


def test_a_group_is_one_write_and_one_sync(path: Path) -> None:
    """However many lines a group has, it costs one write and one sync; a commit without lines costs nothing."""
    files = WatchedFiles()
    journal = _create(path, files)
    del files.done[:]
    for number in range(100):
        journal.append(LineType.NOTE, f"k{number}")
    assert files.done == []
    anyio.run(journal.commit)
    assert files.done == ["write", "datasync"]
    anyio.run(journal.commit)
    anyio.run(journal.commit)
    assert files.done == ["write", "datasync"]
    journal.close()
    assert _keys(path) == [f"k{number}" for number in range(100)]


def test_offsets_lead_to_the_lines(path: Path) -> None:
    """What append returns is where the line stands, across groups and the commits between them."""
    journal = _create(path, WatchedFiles())
    offsets: dict[int, str] = {}
    for number in range(7):
        offsets[journal.append(LineType.NOTE, f"k{number}", {"text": "x" * number * 900})] = f"k{number}"
        if number % 3 == 2:
            anyio.run(journal.commit)
    anyio.run(journal.finish, END)
    by_offset = {line.offset_bytes: line for line in _lines(path)}
    assert {offset: by_offset[offset].key for offset in offsets} == offsets
    with LineReader(path) as lines:
        assert all(lines.read(offset) == by_offset[offset].data for offset in offsets)
        with pytest.raises(JournalDamaged):
            lines.read(1)
    journal.close()


def test_a_finished_session_ends_in_end_and_commit(path: Path) -> None:
    """Finish writes the end, then the commit that vouches for it, both synced, and closes the journal for good."""
    files = WatchedFiles()
    journal = _create(path, files)
    journal.append(LineType.NOTE, "k")
    anyio.run(journal.finish, END)
    assert files.done[-4:] == ["write", "datasync"] * 2
    assert [line.type for line in _lines(path)[-2:]] == [LineType.END, LineType.COMMIT]
    assert _lines(path)[-2].body() == END
    for refused in _every_call(journal):
        with pytest.raises(ValueError, match="the journal is closed"):
            refused()
    journal.close()


def _every_call(journal: Journal) -> list[Callable[[], object]]:
    return [
        lambda: journal.append(LineType.NOTE, "late"),
        lambda: anyio.run(journal.commit),
        lambda: anyio.run(journal.finish, END),
    ]


def test_close_drops_what_was_not_committed(path: Path) -> None:
    """Lines that nobody committed are not written at close, close may be repeated, and then everything is refused."""
    journal = _create(path, WatchedFiles())
    journal.append(LineType.NOTE, "dropped")
    journal.close()
    journal.close()
    assert _keys(path) == []
    for refused in _every_call(journal):
        with pytest.raises(ValueError, match="the journal is closed"):
            refused()


@pytest.mark.parametrize("line_type", [LineType.HEAD, LineType.COMMIT])
def test_some_lines_are_the_journals_own(path: Path, line_type: LineType) -> None:
    """Nobody else writes a head or a commit."""
    journal = _create(path, WatchedFiles())
    with pytest.raises(ValueError, match="written by the journal itself"):
        journal.append(line_type)
    journal.close()


def test_a_refused_line_leaves_no_gap(path: Path) -> None:
    """A line that cannot be written is refused without a trace: number and chain go on as if it had not been."""
    journal = _create(path, WatchedFiles())
    journal.append(LineType.NOTE, "k0")
    for body in ({"usd": float("nan")}, {"crc": "forged"}):
        with pytest.raises(ValueError, match="a spent line"):
            journal.append(LineType.SPENT, "bad", body)
    journal.append(LineType.NOTE, "k1")
    anyio.run(journal.commit)
    journal.close()
    assert _keys(path) == ["k0", "k1"]


class SlowFiles(WatchedFiles):
    """A sync that returns when the test says so, and tells when it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def datasync(self, descriptor: int) -> None:
        super().datasync(descriptor)
        self.begun.set()
        assert self.go.wait(10)


def test_lines_may_be_appended_while_a_group_is_synced(path: Path) -> None:
    """Lines that come during a sync belong to the next group, and the loop is never held up by the disk."""
    files = SlowFiles()

    async def run() -> None:
        journal = _create(path, files)
        journal.append(LineType.NOTE, "k0")
        async with anyio.create_task_group() as group:
            group.start_soon(journal.commit)
            await anyio.to_thread.run_sync(files.begun.wait, 10)
            journal.append(LineType.NOTE, "k1")
            assert _keys(path) == ["k0"]
            group.start_soon(journal.commit)
            files.go.set()
        journal.close()

    anyio.run(run)
    assert _keys(path) == ["k0", "k1"]
    assert files.done.count("datasync") == 2
    commits = [line for line in _lines(path) if line.type is LineType.COMMIT]
    assert [line.body()["offset"] for line in commits] == [_lines(path)[2].offset_bytes]


def test_a_cancelled_commit_is_whole(path: Path) -> None:
    """Cancelling a commit that has begun neither tears its group nor loses it: the journal goes on."""
    files = SlowFiles()

    async def run() -> None:
        journal = _create(path, files)
        journal.append(LineType.NOTE, "k0")
        async with anyio.create_task_group() as group:
            group.start_soon(journal.commit)
            await anyio.to_thread.run_sync(files.begun.wait, 10)
            group.cancel_scope.cancel()
            files.go.set()
        journal.append(LineType.NOTE, "k1")
        await journal.commit()
        journal.close()

    anyio.run(run)
    assert _keys(path) == ["k0", "k1"]


def test_a_commit_cancelled_before_it_began_loses_nothing(path: Path) -> None:
    """A commit in a scope that is already cancelled does nothing at all; the next one writes the lines."""

    async def run() -> None:
        journal = _create(path, WatchedFiles())
        journal.append(LineType.NOTE, "k0")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await journal.commit()
        journal.append(LineType.NOTE, "k1")
        await journal.commit()
        journal.close()

    anyio.run(run)
    assert _keys(path) == ["k0", "k1"]


@pytest.mark.parametrize("steps", range(5))
def test_a_commit_cancelled_on_its_way_loses_nothing(path: Path, steps: int) -> None:
    """Cancelled at any turn of the loop, also between gathering a group and handing it to a thread, it is whole."""

    async def run() -> None:
        journal = _create(path, WatchedFiles())
        journal.append(LineType.NOTE, "k0")
        async with anyio.create_task_group() as group:
            group.start_soon(journal.commit)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        journal.append(LineType.NOTE, "k1")
        await journal.commit()
        journal.close()

    anyio.run(run)
    assert _keys(path) == ["k0", "k1"]


class Told(NamedTuple):
    """What a session's caller was told.

    Attributes:
        acknowledged: the keys of all groups whose commit returned.
        errors: how many calls were refused.
        accepted_late: how many calls went through after the first refusal.
        message: what the first refusal said.
    """

    acknowledged: list[str]
    errors: int
    accepted_late: int
    message: str


async def _stubborn_session(path: Path, files: WatchedFiles) -> Told:
    """A caller that ignores every error and goes on: the journal alone must keep the promise."""
    acknowledged: list[str] = []
    messages: list[str] = []
    late = 0
    journal = _create(path, files)
    for group in range(4):
        keys = [f"k{group}{place}" for place in range(3)]
        try:
            for key in keys:
                journal.append(LineType.SCORED, key, {"row": {"text": "x" * 200}})
                late += bool(messages)
            await journal.commit()
            late += bool(messages)
            acknowledged += keys
        except JournalUnwritable as error:
            messages.append(str(error))
    try:
        await journal.finish({"exit": 0})
    except JournalUnwritable as error:
        messages.append(str(error))
    journal.close()
    return Told(acknowledged, len(messages), late, messages[0] if messages else "")


@pytest.mark.parametrize("persistent", [False, True], ids=["transient", "persistent"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_line_is_acknowledged_after_the_disk_refused(tmp_path: Path, name: str, persistent: bool) -> None:
    """Whichever operation fails, once or for good: later calls all raise, and a resume finds all that was acknowledged.

    Where the disk lets the failed group be cut off, it finds exactly that.
    """
    for nth in count(1):
        path, files = tmp_path / f"{name} {nth}.jsonl", WatchedFiles(name, nth, persistent=persistent)
        try:
            told = anyio.run(_stubborn_session, path, files)
        except JournalUnwritable:
            assert name in {"create", "write", "short write", "fsync", "fsync_dir"}
            assert not path.exists()
            continue
        if not files.fired:
            assert told.errors == 0
            break
        assert told.accepted_late == 0
        assert told.message.startswith(str(path))
        assert ("took" if name == "short write" else os.strerror(errno.EIO)) in told.message
        _check_resume(path, told.acknowledged)
    assert nth > 1 or name == "truncate"


def _check_resume(path: Path, acknowledged: list[str]) -> None:
    recovered = recover(path, lambda line: None)
    assert recovered.cut is None
    assert _keys(path) == acknowledged
    journal = Journal.resume(path, recovered, clock=CLOCK, files=WatchedFiles())
    journal.append(LineType.NOTE, "again")
    anyio.run(journal.finish, END)
    journal.close()
    assert _keys(path) == [*acknowledged, "again"]


class StuckFiles(WatchedFiles):
    """A disk that takes half of its second write and then refuses to be cut: the torn line stays."""

    def __init__(self) -> None:
        super().__init__("short write", 2)

    def truncate(self, descriptor: int, size_bytes: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_torn_line_that_could_not_be_cut_is_cut_at_resume(path: Path) -> None:
    """Where even the cut fails, the torn rest stays in the file until resume cuts it."""
    told = anyio.run(_stubborn_session, path, StuckFiles())
    assert told.acknowledged == []
    recovered = recover(path, lambda line: None)
    assert recovered.cut is not None
    files = WatchedFiles()
    journal = Journal.resume(path, recovered, clock=CLOCK, files=files)
    assert files.done == ["truncate", "fsync"]
    journal.append(LineType.NOTE, "again")
    anyio.run(journal.commit)
    journal.close()
    assert _keys(path)[-1] == "again"
    assert recover(path, lambda line: None).cut is None


@pytest.mark.parametrize("name", ["truncate", "fsync"])
def test_a_resume_that_the_disk_refuses_changes_nothing_acknowledged(path: Path, name: str) -> None:
    """A failing cut or sync at resume is an error with the path; the lines are still there for the next try."""
    told = anyio.run(_stubborn_session, path, WatchedFiles())
    path.write_bytes(path.read_bytes() + b'{"seq":')
    recovered = recover(path, lambda line: None)
    with pytest.raises(JournalUnwritable, match=str(path)):
        Journal.resume(path, recovered, clock=CLOCK, files=WatchedFiles(name, 1))
    assert _keys(path) == told.acknowledged


def test_a_thread_that_cannot_start_stops_the_journal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is not the disk's passes unchanged, but it stops the journal too: its group is lost."""

    async def run() -> None:
        journal = _create(path, WatchedFiles())
        journal.append(LineType.NOTE, "k0")
        monkeypatch.setattr(journal, "_write_and_sync", lambda group: {}[group])
        with pytest.raises(KeyError):
            await journal.commit()
        with pytest.raises(JournalUnwritable, match="broken off"):
            journal.append(LineType.NOTE, "k1")
        journal.close()

    anyio.run(run)


def test_a_full_device_is_an_unwritable_journal(tmp_path: Path) -> None:
    """A real device without room refuses the first line; the message names path, reason and what to do."""

    class OnFull(OsFiles):
        def create(self, path: Path) -> int:
            return os.open("/dev/full", os.O_WRONLY)

    with pytest.raises(JournalUnwritable, match=rf"{tmp_path}.*No space left on device \[ENOSPC\]; free some space"):
        _create(tmp_path / "journal.jsonl", OnFull())


@pytest.mark.parametrize("name", ["create", "write", "short write", "fsync", "fsync_dir"])
def test_a_refused_start_is_said_and_leaves_nothing(path: Path, name: str) -> None:
    """Whatever the disk refuses at the start, the message names the path, and nothing is in a second start's way."""
    with pytest.raises(JournalUnwritable, match=rf"{path}: cannot be written"):
        _create(path, WatchedFiles(name, 1))
    assert not path.exists()
    _create(path, WatchedFiles()).close()


def test_a_head_that_was_never_synced_can_be_started_anew(path: Path) -> None:
    """After a start that died in its head, removing the file and creating it again is all there is to do."""
    path.write_bytes(b'{"seq":0,"prev":"0000')
    with pytest.raises(JournalHeadless) as info:
        recover(path, lambda line: None)
    info.value.path.unlink()
    _create(path, WatchedFiles()).close()
    assert [line.type for line in _lines(path)] == [LineType.HEAD]
