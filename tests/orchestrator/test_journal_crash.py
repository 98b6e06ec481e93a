"""Whatever stops a run, every line that was acknowledged is found again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from orchestrator.files import OsFiles
from orchestrator.journal import Journal, JournalHeadless, Line, LineType, recover
from spec.clock import SystemClock
from spec.errors import JournalUnwritable

SECTOR_BYTES: Final = 512


class LossyDisk(OsFiles):
    """A disk whose cache is lost with the power: only what was synced is sure, the rest is a matter of luck.

    Attributes:
        fail_next_sync: the next sync of data fails, as on a disk that lost a page.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sure: bytes | None = None
        self._entry_is_sure = False
        self.fail_next_sync = False

    def datasync(self, descriptor: int) -> None:
        if self.fail_next_sync:
            self.fail_next_sync = False
            raise OSError(5, "Input/output error")
        self._sure = self._path.read_bytes()

    def fsync(self, descriptor: int) -> None:
        self.datasync(descriptor)

    def fsync_dir(self, directory: Path) -> None:
        self._entry_is_sure = True

    def lose_power(self, chance: random.Random) -> None:
        """Leave on the disk what a power loss could leave there."""
        if not self._entry_is_sure and chance.random() < 0.5:
            self._path.unlink(missing_ok=True)
            self._sure = None
            return
        sure, cached = self._sure or b"", self._path.read_bytes()
        if len(cached) < len(sure):  # a cut that was not synced either happened or did not
            left = chance.choice([sure, cached])
        else:
            left = sure + _survivors(cached, len(sure), chance)
        self._path.write_bytes(left)
        self._sure, self._entry_is_sure = left, True


def _survivors(cached: bytes, sure_bytes: int, chance: random.Random) -> bytes:
    """What is left behind the synced bytes: any length, each sector written, empty or garbled."""
    end = chance.randint(sure_bytes, len(cached))
    left = bytearray()
    place = sure_bytes
    while place < end:
        sector_end = min(end, (place // SECTOR_BYTES + 1) * SECTOR_BYTES)
        size = sector_end - place
        luck = chance.random()
        left += cached[place:sector_end] if luck < 0.7 else bytes(size) if luck < 0.85 else chance.randbytes(size)
        place = sector_end
    return bytes(left)


class PowerLoss(RuleBasedStateMachine):
    """Every acknowledged line survives any sequence of appends, commits, refused syncs, crashes and power losses."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()
        self._path = Path(self._directory.name) / "journal.jsonl"
        self._portal_door = start_blocking_portal()
        self._portal = self._portal_door.__enter__()
        self._clock = SystemClock()
        self._disk = LossyDisk(self._path)
        self._number = 0
        self._acknowledged: list[str] = []
        self._pending: list[str] = []
        self._works = True
        self._journal = self._create()

    def _create(self) -> Journal:
        return Journal.create(self._path, {"run_id": "r"}, clock=self._clock, files=self._disk)

    def teardown(self) -> None:
        self._journal.close()
        self._portal_door.__exit__(None, None, None)
        self._directory.cleanup()

    @precondition(lambda self: self._works)
    @rule(sizes=st.lists(st.integers(0, 1500), min_size=1, max_size=5))
    def append(self, sizes: list[int]) -> None:
        for size in sizes:
            key = f"k{self._number}"
            self._number += 1
            self._journal.append(LineType.SCORED, key, {"row": {"text": "x" * size}})
            self._pending.append(key)

    @precondition(lambda self: self._works)
    @rule()
    def commit(self) -> None:
        self._portal.call(self._journal.commit)
        self._acknowledged += self._pending
        self._pending = []

    @precondition(lambda self: self._works and self._pending)
    @rule()
    def commit_to_a_failing_disk(self) -> None:
        self._disk.fail_next_sync = True
        with pytest.raises(JournalUnwritable):
            self._portal.call(self._journal.commit)
        self._works = False

    @precondition(lambda self: not self._works)
    @rule()
    def go_on_regardless(self) -> None:
        with pytest.raises(JournalUnwritable):
            self._journal.append(LineType.NOTE, "late")
        with pytest.raises(JournalUnwritable):
            self._portal.call(self._journal.commit)

    @rule(seed=st.integers(0, 2**32), power=st.booleans(), written=st.booleans())
    def crash_and_recover(self, seed: int, power: bool, written: bool) -> None:
        """The process dies, perhaps between its write and its sync, and perhaps the power goes too."""
        if written and self._works:
            with self._path.open("ab") as file:
                file.write(b"".join(self._journal._gathered))
        self._journal.close()
        if power:
            self._disk.lose_power(random.Random(seed))
        lines: list[Line] = []
        recovered = recover(self._path, lines.append)
        keys = [line.key for line in lines if line.key is not None]
        settled = len(self._acknowledged)
        assert keys[:settled] == self._acknowledged
        assert keys[settled:] == self._pending[: len(keys) - settled]
        self._acknowledged, self._pending, self._works = keys, [], True
        self._journal = Journal.resume(self._path, recovered, clock=self._clock, files=self._disk)

    @invariant()
    def what_is_in_the_file_is_right(self) -> None:
        assert recover(self._path, lambda line: None).cut is None


PowerLoss.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestPowerLoss = PowerLoss.TestCase


@pytest.mark.parametrize("seed", range(20))
def test_a_power_loss_during_creation_leaves_a_run_that_can_start(tmp_path: Path, seed: int) -> None:
    """Until create has returned nothing was started: what is left is no file, a headless one, or a whole head."""
    path = tmp_path / "journal.jsonl"
    disk = LossyDisk(path)
    disk.fsync(disk.create(path))
    path.write_bytes(b'{"seq":0,"prev":"00000000","type":"head"' + b" " * 900)
    disk.lose_power(random.Random(seed))
    if path.exists():
        with pytest.raises(JournalHeadless):
            recover(path, lambda line: None)
        path.unlink()
    Journal.create(path, {"run_id": "r"}, clock=SystemClock(), files=disk).close()
    disk.lose_power(random.Random(seed))
    assert recover(path, lambda line: None).head == {"run_id": "r"}


WRITER: Final = """
import os, sys, anyio
from pathlib import Path
from spec.clock import SystemClock
from orchestrator.journal import Journal, LineType, recover

async def main(path):
    clock = SystemClock()
    if path.exists():
        journal = Journal.resume(path, recover(path, lambda line: None), clock=clock)
    else:
        journal = Journal.create(path, {"run_id": "r"}, clock=clock)
    number = 0
    while True:
        for _ in range(5):
            journal.append(LineType.SCORED, f"{sys.argv[2]}-{number}", {"row": {"text": "x" * 700}})
            number += 1
        await journal.commit()
        os.write(1, b"%d\\n" % number)

anyio.run(main, Path(sys.argv[1]))
"""


def test_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """A kill -9 after the first, third, ... group, then a resume, five times: what was told to be safe is there."""
    path = tmp_path / "journal.jsonl"
    known: list[str] = []
    for session, groups in enumerate((1, 3, 7, 12, 20)):
        told = _run_and_kill(path, str(session), groups)
        lines: list[Line] = []
        recover(path, lines.append)
        found = [line.key for line in lines if line.key is not None]
        expected = [*known, *(f"{session}-{number}" for number in range(told))]
        assert found[: len(expected)] == expected
        assert told >= groups * 5
        known = found


def _run_and_kill(path: Path, name: str, groups: int) -> int:
    """Start a writer, kill it after it told of ``groups`` groups; gives how many lines it had called safe."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(groups)]
        writer.kill()
        told += writer.stdout.read().splitlines(keepends=True)
    assert writer.returncode == -signal.SIGKILL
    return int([line for line in told if line.endswith(b"\n")][-1])
