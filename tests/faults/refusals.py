"""What has to hold when a disk refuses a run: how the run ends, and what a resume on a good disk makes of it."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from tests.checker import check
from tests.checker.journal import acknowledged, read_journal
from tests.faults.card import Recorder
from tests.faults.disks import Disk, Refusing
from tests.faults.in_process import Said, begin, go_on

CANNOT_WRITE: Final = 4
NOTHING_BEGUN: Final = 2
NOTHING_SAID: Final = ("nothing was started", "there is no run here")
TIDYING: Final = frozenset({"close", "truncate", "unlink"})
"""What may still be asked of a disk that has refused."""

HARMLESS: Final = frozenset({"close", "unlink"})
"""What may be refused without harm: giving a descriptor back, removing what nobody reads."""

LAST_LOOK: Final = "in_flight.json"
"""A file that only tells a curious person what was on its way; a run goes on without it."""


def said_problems(said: Said, run_dir: Path, code: int) -> list[str]:
    """What is wrong with how a run ended that could not write: its exit code, and what it names."""
    found = [] if said.code == CANNOT_WRITE else [f"I7: exit code {said.code}, not {CANNOT_WRITE}: {said.message}"]
    parts = (str(run_dir), f"[{errno.errorcode[code]}]")
    return found + [
        f"I7: the message does not name {one}: {said.message!r}" for one in parts if one not in said.message
    ]


def refusal_problems(said: Said, disk: Refusing, run_dir: Path) -> list[str]:
    """The same for a refusing disk, and whether it was asked for anything after its refusal."""
    assert disk.refused is not None
    harmless = disk.refused.name in HARMLESS or LAST_LOOK in str(disk.refused.path)
    if said.code == 0 and harmless:
        return []
    asked = sorted({done.name for done in disk.after if LAST_LOOK not in str(done.path)} - TIDYING)
    found = [f"I2: after the refusal the disk was asked for {', '.join(asked)}"] if asked and not harmless else []
    return found + said_problems(said, run_dir, disk.code)


def torn_problems(run_dir: Path) -> list[str]:
    """Whether a torn line was left behind."""
    journal = run_dir / "journal.jsonl"
    if not journal.exists():
        return []
    torn = read_journal(journal.read_bytes(), closed=False).torn
    return [] if torn is None else [f"I2: a torn line was left at byte {torn}"]


def go_on_and_check(capfd: pytest.CaptureFixture[str], config: Path, run_dir: Path, undisturbed: Path) -> list[str]:
    """Resume, or start anew where nothing was started; what is then wrong with the run."""
    journal = run_dir / "journal.jsonl"
    before = acknowledged(journal.read_bytes()) if journal.exists() else b""
    said = go_on(capfd, run_dir)
    if said.code == NOTHING_BEGUN and not before and any(words in said.message for words in NOTHING_SAID):
        shutil.rmtree(run_dir)
        said = begin(capfd, config, run_dir)
    found = check(run_dir, undisturbed=undisturbed, before=before, exit_code=said.code)
    return [f"{one} {said.err}" for one in found]


def refuse_each(
    capfd: pytest.CaptureFixture[str],
    row: Recorder,
    config: Path,
    undisturbed: Path,
    folder: Path,
    disks: Iterator[Refusing],
) -> None:
    """Run on each disk, then go on with a good one, until a run passes untouched."""
    run_dir = folder / "run"
    for disk in disks:
        with disk:
            said = begin(capfd, config, run_dir)
        found = [*refusal_problems(said, disk, run_dir), *torn_problems(run_dir)] if disk.refused else []
        found += go_on_and_check(capfd, config, run_dir, undisturbed)
        shutil.rmtree(run_dir)
        row.trial()
        row.violations(f"{disk.refused}: {problem}" for problem in found)
        if disk.refused is None:
            break
        row.inject()


def places_of(names: Sequence[str], disk: Disk) -> list[int]:
    """1, 2, ... as often as a run asked a disk for one of some operations."""
    return [*range(1, 1 + sum(operation.name in names for operation in disk.done))]


def every_place() -> Iterator[int]:
    """1, 2, ... without an end: a run that passes untouched is the end."""
    return count(1)
