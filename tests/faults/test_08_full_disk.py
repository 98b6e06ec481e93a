"""Row 8: a disk that is full ends the run with 4 and no torn line; with room again, resume does the rest."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.faults.card import CardOfTest, Scale
from tests.faults.disks import Disk, Operation, Refusing
from tests.faults.in_process import begin, finish, small_config
from tests.faults.refusals import every_place, go_on_and_check, places_of, refuse_each, said_problems, torn_problems

ROW: Final = (8, "ENOSPC: full disk, short write, full device")
KIB: Final = 1024
DISK_KIB: Final = 512
RUN_KIB: Final = 120
"""What a run of nine trials takes, about."""


class FullDevice(Disk):
    """The journal's writes go to a real device without room, from the n-th on.

    Args:
        nth: the first of them.

    Attributes:
        refused: whether there were so many: how lines are grouped depends on how fast the machine is.
    """

    def __init__(self, nth: int) -> None:
        super().__init__()
        self._left = nth
        self.refused = False

    def act(self, operation: Operation, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """See ``Disk``."""
        if operation.name == "write" and operation.path.name == "journal.jsonl":
            self._left -= 1
            if self._left <= 0:
                self.refused = True
                return _write_to_full_device(arguments[2])
        return real(*arguments)


def _write_to_full_device(data: bytes) -> int:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        return os.write(descriptor, data)
    finally:
        os.close(descriptor)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, half a mebibyte large; the test is skipped where it cannot be had."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


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


@pytest.mark.timeout(900)
def test_a_disk_fills_up_somewhere_in_a_run(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    config: Path,
    counted: Counted,
    tmp_path: Path,
) -> None:
    """On a real small file system, with a little less room each time: exit 4, whole lines, and resume with room."""
    row = card.row(*ROW)
    pages = range(RUN_KIB, 0, -4)
    with small_disk(tmp_path / "disk") as disk:
        for left_kib in rng.sample(pages, scale(smoke=1, quick=6, full=len(pages))):
            ballast, run_dir = disk / "ballast", disk / "run"
            ballast.write_bytes(bytes((DISK_KIB - left_kib) * KIB))
            said = begin(capfd, config, run_dir)
            ballast.unlink()
            found = torn_problems(run_dir)
            if said.code:
                row.inject()
                found += said_problems(said, run_dir, errno.ENOSPC)
            found += go_on_and_check(capfd, config, run_dir, counted.run_dir)
            row.trial()
            row.violations(f"{left_kib} KiB left: {problem}" for problem in found)
            shutil.rmtree(run_dir)


@pytest.mark.parametrize("short", [False, True], ids=["refused", "short"])
@pytest.mark.parametrize("persistent", [False, True], ids=["once", "full"])
@pytest.mark.timeout(900)
def test_the_nth_write_finds_no_room(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    config: Path,
    counted: Counted,
    tmp_path: Path,
    short: bool,
    persistent: bool,
) -> None:
    """The first, second, ... write of a run finds no room, or room for a half, until a run passes untouched."""
    row = card.row(*ROW)
    known = places_of(("write",), counted.disk)
    some = rng.sample(known, scale(smoke=1, quick=4, full=len(known)))
    places = every_place() if len(some) == len(known) else iter(some)
    disks = (Refusing(nth, only=("write",), code=errno.ENOSPC, persistent=persistent, short=short) for nth in places)
    refuse_each(capfd, row, config, counted.run_dir, tmp_path, disks)


def test_the_journal_lies_on_a_full_device(
    card: CardOfTest, scale: Scale, capfd: pytest.CaptureFixture[str], config: Path, counted: Counted, tmp_path: Path
) -> None:
    """A real device without room refuses the journal's first, second, ... write: the message is the kernel's."""
    row = card.row(*ROW)
    for nth in range(1, scale(smoke=2, quick=6, full=11)):
        run_dir = tmp_path / f"run-{nth}"
        with FullDevice(nth) as device:
            said = begin(capfd, config, run_dir)
        if not device.refused:
            assert said.code == 0
            break
        found = said_problems(said, run_dir, errno.ENOSPC) + torn_problems(run_dir)
        found += go_on_and_check(capfd, config, run_dir, counted.run_dir)
        row.trial()
        row.inject()
        row.violations(f"journal's write {nth}: {problem}" for problem in found)
