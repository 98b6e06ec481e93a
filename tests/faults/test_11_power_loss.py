"""Row 11: when the power goes, every acknowledged line is still there, and the run can be gone on with."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test

from orchestrator.config import load_config
from orchestrator.session import run
from tests.checker import check
from tests.checker.journal import acknowledged
from tests.faults.card import CardOfTest, Scale
from tests.faults.disks import Disk, Operation
from tests.faults.in_process import begin, finish, go_on, small_config
from tests.orchestrator.test_journal_crash import LossyDisk, PowerLoss

ROW: Final = (11, "power loss")
STEPS: Final = 50
MISSING: Final = b""


@pytest.mark.timeout(900)
def test_acknowledged_lines_survive_any_sequence_of_losses(
    card: CardOfTest, scale: Scale, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Appends, syncs, refused syncs, crashes and power losses in any order, on a disk that drops and garbles sectors.

    The machine is the journal's own; it also loses the directory's entry before that is synced.
    """
    row = card.row(*ROW)
    lose = LossyDisk.lose_power

    def counted_loss(disk: LossyDisk, chance: random.Random) -> None:
        row.inject()
        lose(disk, chance)

    @seed(rng.getrandbits(32))
    class Counted(PowerLoss):
        def __init__(self) -> None:
            row.trial()
            super().__init__()

    monkeypatch.setattr(LossyDisk, "lose_power", counted_loss)
    examples = scale(smoke=5, quick=60, full=500)
    chosen = settings(max_examples=examples, stateful_step_count=STEPS, deadline=None, database=None)
    try:
        run_state_machine_as_test(Counted, settings=chosen)
    except AssertionError as error:
        row.violations([f"I2: {error}"])


class PowerIsGone(BaseException):
    """Ends whatever is under way: nobody hears of it."""


class Cached(Disk):
    """A disk with a cache: what was not synced when the power goes is a matter of luck.

    Args:
        nth: the operation, from 1, before which the power goes; none of the later ones is carried out either.
        chance: decides what is left.

    Attributes:
        last: the operation before which the power went, or None.
    """

    def __init__(self, nth: int, chance: random.Random) -> None:
        super().__init__()
        self._nth, self._chance = nth, chance
        self.last: Operation | None = None
        self._sure: dict[Path, bytes] = {}
        self._lossy: dict[Path, LossyDisk] = {}
        self._entries: dict[Path, dict[Path, bytes]] = {}

    def act(self, operation: Operation, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """See ``Disk``."""
        if len(self.done) >= self._nth:
            self.last = self.last or operation
            raise PowerIsGone
        if operation.name == "create":
            self._pend(operation.path)
        elif operation.name == "replace":
            self._pend(arguments[2])
        result = real(*arguments)
        if operation.name in ("fsync", "datasync"):
            self._sure[operation.path] = operation.path.read_bytes()
        elif operation.name == "replace":
            self._sure[arguments[2]] = self._sure.pop(operation.path, MISSING)
        elif operation.name == "fsync_dir":
            self._entries.pop(operation.path, None)
        return result

    def _pend(self, path: Path) -> None:
        """A name is about to lead to another file: until the directory is synced it may lead to the old one."""
        before = path.read_bytes() if path.exists() else MISSING
        self._entries.setdefault(path.parent, {}).setdefault(path, before)

    def lose(self) -> None:
        """Leave on the disk what a power loss could leave there."""
        for entries in self._entries.values():
            for path, before in entries.items():
                if self._chance.random() < 0.5 and path.exists():
                    path.unlink()
                    if before != MISSING:
                        path.write_bytes(before)
                    self._sure.pop(path, None)
        for path, sure in self._sure.items():
            if path.exists():
                _garble(path, sure, self._chance)


def _garble(path: Path, sure: bytes, chance: random.Random) -> None:
    """What was synced stays; behind it, sectors are written, empty or garbled, up to any length."""
    disk = LossyDisk(path)
    cached = path.read_bytes()
    path.write_bytes(sure)
    disk.fsync(0)
    disk.fsync_dir(path.parent)
    path.write_bytes(cached)
    disk.lose_power(chance)


@pytest.mark.timeout(900)
def test_a_whole_run_survives_a_loss_before_any_operation(
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """The power goes before the n-th operation of a run, for all n; resume gives what an undisturbed run gives."""
    row = card.row(*ROW)
    config, run_dir = small_config(tmp_path), tmp_path / "run"
    with Disk() as counted:
        undisturbed = finish(config, tmp_path / "undisturbed")
    places = sorted(rng.sample(range(1, len(counted.done) + 1), scale(smoke=2, quick=20, full=len(counted.done))))
    for nth in places:
        disk = Cached(nth, rng)
        with disk, suppress(PowerIsGone):
            run(load_config(config, environ={}), run_dir=run_dir)
        told = acknowledged(disk._sure.get(run_dir / "journal.jsonl", MISSING))
        disk.lose()
        row.trial()
        row.inject(disk.last is not None)  # groups form as time allows, so a run may be over before
        said = go_on(capfd, run_dir)
        if said.code == 2 and not told:
            shutil.rmtree(run_dir)
            said = begin(capfd, config, run_dir)
        found = check(run_dir, undisturbed=undisturbed, before=told, exit_code=said.code)
        row.violations(f"{disk.last}: {one} {said.err}" for one in found)
        shutil.rmtree(run_dir)
