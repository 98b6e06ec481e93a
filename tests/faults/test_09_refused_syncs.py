"""Row 9: a disk that fails a sync or a write ends the run with 4, is never asked twice, and nothing is acknowledged."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.checker import check
from tests.checker.journal import acknowledged
from tests.faults.card import CardOfTest, Scale
from tests.faults.disks import OPERATIONS, SYNCS, Disk, Refusing
from tests.faults.harness import Runs
from tests.faults.in_process import begin, call, finish, go_on, small_config
from tests.faults.refusals import CANNOT_WRITE, every_place, places_of, refusal_problems, refuse_each

ROW: Final = (9, "EIO, failing fsync")
FIU: Final = shutil.which("fiu-run")
POINTS: Final = {"posix/io/rw/write": 0.02, "posix/io/sync/fsync": 0.1, "posix/io/sync/fdatasync": 0.1}
"""Where a system call is made to fail, and how often."""

OPERATIONS_MAX: Final = 200
MIDDLE: Final = 4
"""The sync that fails so that a run is owed about half of its trials."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One arm, nine trials, small groups."""
    return small_config(tmp_path_factory.mktemp("config"))


class Counted(NamedTuple):
    """A run that nothing befell, and what it asked of its disk."""

    run_dir: Path
    disk: Disk


@pytest.fixture(scope="module")
def counted(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Counted:
    """Made once."""
    with Disk() as disk:
        return Counted(finish(config, tmp_path_factory.mktemp("undisturbed") / "run"), disk)


@pytest.mark.parametrize("persistent", [False, True], ids=["transient", "persistent"])
@pytest.mark.parametrize("only", [("write",), SYNCS, OPERATIONS], ids=["write", "sync", "any"])
@pytest.mark.timeout(900)
def test_the_nth_refusal_of_a_whole_run(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    config: Path,
    counted: Counted,
    tmp_path: Path,
    only: Sequence[str],
    persistent: bool,
) -> None:
    """The first, second, ... operation of a run fails, until a run passes untouched: exit 4, and resume does the rest.

    How many there are differs a little from run to run, since groups form as time allows; so the loop ends by itself.
    """
    row = card.row(*ROW)
    known = places_of(only, counted.disk)
    some = rng.sample(known, scale(smoke=1, quick=6, full=len(known)))
    places = every_place() if len(some) == len(known) else iter(some)
    disks = (Refusing(nth, only=only, persistent=persistent) for nth in places)
    refuse_each(capfd, row, config, counted.run_dir, tmp_path, disks)


@pytest.mark.parametrize("persistent", [False, True], ids=["transient", "persistent"])
@pytest.mark.timeout(900)
def test_the_nth_refusal_of_a_resume(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    config: Path,
    counted: Counted,
    tmp_path: Path,
    persistent: bool,
) -> None:
    """A run that was broken off in its middle is resumed on a failing disk, and then again on a good one."""
    row, run_dir, owing = card.row(*ROW), tmp_path / "run", tmp_path / "owing"
    with Refusing(MIDDLE, only=("datasync",)):
        assert begin(capfd, config, owing).code == CANNOT_WRITE
    row.inject()
    step = scale(smoke=OPERATIONS_MAX, quick=9, full=1)
    for nth in range(rng.randrange(1, min(step, 20) + 1), OPERATIONS_MAX, step):
        shutil.copytree(owing, run_dir)
        before = acknowledged((run_dir / "journal.jsonl").read_bytes())
        with Refusing(nth, persistent=persistent) as disk:
            said = go_on(capfd, run_dir)
        found = refusal_problems(said, disk, run_dir) if disk.refused else []
        again = go_on(capfd, run_dir)
        found += map(str, check(run_dir, undisturbed=counted.run_dir, before=before, exit_code=again.code))
        row.trial()
        row.violations(f"{disk.refused} in a resume: {problem}" for problem in found)
        shutil.rmtree(run_dir)
        if disk.refused is None:
            break
        row.inject()


@pytest.mark.faults("quick")
@pytest.mark.skipif(FIU is None, reason="fiu-run is not installed (Debian: fiu-utils)")
@pytest.mark.timeout(1200)
def test_a_whole_program_on_a_failing_disk(
    card: CardOfTest, scale: Scale, runs: Runs, config: Path, tmp_path: Path
) -> None:
    """System calls of the whole process fail at random, below Python: no wrong row, and resume gives the same result.

    What else of Python the failures hit, such as its own output, is nobody's promise; so any ending is taken here, and
    what the files say is judged.
    """
    row, undisturbed = card.row(*ROW), runs.undisturbed(config)
    for number in range(scale(smoke=0, quick=3, full=30)):
        run = runs.new()
        point, chance = list(POINTS.items())[number % len(POINTS)]
        words = [sys.executable, "-m", "orchestrator", "run", "--config", config, "--run-dir", run.run_dir, "--json"]
        command = [FIU, "-x", "-c", f"enable_random name={point},probability={chance},failinfo={errno.EIO}", *words]
        broken = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=120)
        row.trial()
        row.inject(broken.returncode != 0)
        before = run.acknowledged()
        if run.journal.exists() and run.journal.stat().st_size:
            code = run.resume().end()
        else:
            shutil.rmtree(run.run_dir, ignore_errors=True)
            code = run.begin(config).end()
        found = check(run.run_dir, undisturbed=undisturbed, before=before, exit_code=code, marker=run.marker)
        told = run.output("err").read_text()[-300:]
        row.violations(f"{point}, {broken.returncode}: {one} {told}" for one in found)


def test_the_kinds_of_failure_are_told_apart(capfd: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    """The error's own number reaches the message with what to do about it, whatever the number."""
    for code, word in ((errno.EIO, "dmesg"), (errno.EDQUOT, "free some space"), (errno.EROFS, "that can be written")):
        with Refusing(MIDDLE, only=("datasync",), code=code):
            said = begin(capfd, config, tmp_path / str(code))
        assert said.code == CANNOT_WRITE
        assert f"{os.strerror(code)} [{errno.errorcode[code]}]" in said.message
        assert word in said.message
        assert call(capfd, "status", tmp_path / str(code)).code == 0
