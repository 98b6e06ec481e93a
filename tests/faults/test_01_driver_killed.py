"""Row 1: the driver is killed with SIGKILL, at many points, through the program itself and through forks of it."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from tests.checker import Violation, check
from tests.faults.card import CardOfTest, Recorder, Scale
from tests.faults.harness import REFERENCE, Runs
from tests.faults.nursery import MOMENTS, REFERENCE_WORDS, Ended, Nursery, Stop

ROW: Final = (1, "kill -9 of the driver: inline and on Ray, at every operation on a file and at random, then resume")
SETS: Final = ("run.trials=2",)
PLANNED: Final = 36
SLOWLY: Final = (*SETS, "engine.in_flight=2", "engine.lease_max=1", "limits.group_commit_ms=40")
"""Nothing that results depend on, but rows come one by one, so that a kill meets a run in its middle."""
LASTS_S: Final = 0.5
"""About how long a forked run takes."""
NOT_BEGUN: Final = 2
AGAIN: Final = 1 / 3
"""How often the resume is killed as well."""


@pytest.mark.timeout(600)
def test_the_program_is_killed_and_resumed(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Killed after a random row, the program resumes to undisturbed results, and nothing acknowledged is gone."""
    row = card.row(*ROW)
    for _ in range(scale(smoke=1, quick=3, full=25)):
        run = runs.new().begin(REFERENCE, SLOWLY, "--inline")
        row.trial()
        row.inject()
        assert run.reached("scored", rng.randrange(1, PLANNED)), run.output("err").read_text()
        before = run.kill()
        code = run.resume().end()
        row.violations(
            check(run.run_dir, undisturbed=nursery.undisturbed, before=before, exit_code=code, marker=run.marker)
        )


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(1200)
def test_a_driver_on_ray_is_killed_and_resumed(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """On Ray too, and within ten seconds none of Ray's processes is left; one resume in four is on Ray again."""
    row = card.row(*ROW)
    for number in range(scale(smoke=0, quick=1, full=20)):
        run = runs.new().begin(REFERENCE, (*SLOWLY, "engine.workers=2"))
        row.trial()
        row.inject()
        assert run.reached("scored", rng.randrange(1, PLANNED)), run.output("err").read_text()
        before = run.kill()
        owed = PLANNED - run.count("scored")
        if owed:  # where nothing is, the run was killed on its way to its results, which the resume makes
            row.violations(check(run.run_dir, before=before, owed=owed, marker=run.marker))
        code = nursery.resume(run) if number % 4 else run.resume().end()
        row.violations(
            check(run.run_dir, undisturbed=nursery.undisturbed, before=before, exit_code=code, marker=run.marker)
        )


class Victim:
    """One forked run that is killed and resumed until it is whole."""

    def __init__(self, nursery: Nursery, folder: Path, number: int, row: Recorder) -> None:
        self._nursery, self._row = nursery, row
        self.run_dir = folder / f"run-{number}"
        self.before = b""

    @property
    def journal(self) -> Path:
        return self.run_dir / "journal.jsonl"

    def begin(self, stop: Stop | None = None, kill_s: float = 0) -> Ended:
        """Start the run, with its end at an operation, or after a time, or by itself."""
        return self._ended(
            self._nursery.run(*REFERENCE_WORDS, "--run-dir", self.run_dir, stop=stop, meanwhile=Killing(kill_s))
        )

    def resume(self, stop: Stop | None = None) -> Ended:
        """Go on with it."""
        return self._ended(self._nursery.run("resume", self.run_dir, "--json", "--quiet", stop=stop))

    def _ended(self, ended: Ended) -> Ended:
        """Keep what the disk has confirmed, and look whether what it had confirmed before is still there."""
        data = self.journal.read_bytes() if self.journal.exists() else b""
        if not data.startswith(self.before):
            self._row.violations([Violation("I2", f"{len(self.before)} acknowledged bytes have changed")])
        if ended.code == -signal.SIGKILL:
            self._row.inject()
            self.before = max(self.before, data[: ended.synced], key=len)
        return ended

    def finish(self) -> None:
        """Resume to the end, or start anew where nothing had begun, and judge."""
        ended = self.resume()
        if ended.code == NOT_BEGUN and not self.before:
            shutil.rmtree(self.run_dir)  # as the message says
            ended = self.begin()
        self._row.violations(
            check(self.run_dir, undisturbed=self._nursery.undisturbed, before=self.before, exit_code=ended.code)
        )


class Killing:
    """Kills a child some time after its start; 0: not at all."""

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s

    def __call__(self, pid: int) -> None:
        if self._after_s:
            time.sleep(self._after_s)
            with contextlib.suppress(ProcessLookupError):  # it was quicker
                os.kill(pid, signal.SIGKILL)


@pytest.mark.timeout(600)
def test_a_driver_is_killed_at_every_operation(
    nursery: Nursery, tmp_path: Path, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Before, within or after any write, sync or rename, results too: what was confirmed stays, the rest is run."""
    row = card.row(*ROW)
    operations = nursery.run(*REFERENCE_WORDS, "--run-dir", tmp_path / "counted").operations
    assert operations > PLANNED
    count = scale(smoke=5, quick=20, full=130)
    for number in range(count):
        row.trial()
        victim = Victim(nursery, tmp_path, number, row)
        victim.begin(Stop(1 + number * operations // count, rng.choice(MOMENTS)))
        if rng.random() < AGAIN:
            victim.resume(Stop(rng.randrange(1, operations), rng.choice(MOMENTS)))
        victim.finish()


@pytest.mark.timeout(600)
def test_a_driver_is_killed_at_any_time(
    nursery: Nursery, tmp_path: Path, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Killed by the clock, wherever that meets it."""
    row = card.row(*ROW)
    for number in range(scale(smoke=2, quick=10, full=40)):
        row.trial()
        victim = Victim(nursery, tmp_path, number, row)
        victim.begin(kill_s=rng.uniform(0.02, LASTS_S))
        victim.finish()
