"""What was on its way when a run was last looked at."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from orchestrator.control.lastlook import LAST_LOOK, LAST_LOOK_BYTES_MAX, LookKeeper, read_last_look, remove_last_look
from orchestrator.control.protocol import ViewTold
from orchestrator.files import OsFiles
from spec.clock import Clock


class FullDisk(OsFiles):
    """A disk that refuses some writes."""

    def __init__(self, refusals: int) -> None:
        self.refusals, self.syncs = refusals, 0

    def write(self, descriptor: int, data: bytes) -> int:
        if self.refusals:
            self.refusals -= 1
            return super().write(descriptor, data[:5])
        return super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self.syncs += 1


def names_in(directory: Path) -> list[str]:
    return [entry.name for entry in directory.iterdir()]


async def keep_for(keeper: LookKeeper, seconds: float) -> None:
    with anyio.move_on_after(seconds):
        await keeper.keep()


@pytest.mark.anyio
async def test_the_last_look_is_replaced_and_removed(clock: Clock, told_run: Any, tmp_path: Path) -> None:
    """The file is 0600, says what was seen last, and is gone with its neighbours after a clean end."""
    keeper = LookKeeper(tmp_path, 3, 2.0, told_run.look, clock=clock)
    await keep_for(keeper, 0.5)
    assert stat.S_IMODE((tmp_path / LAST_LOOK).stat().st_mode) == 0o600
    first = read_last_look(tmp_path)
    told_run.paused = True
    await keep_for(keeper, 2.5)
    second = read_last_look(tmp_path)
    assert first is not None
    assert second is not None
    assert (first.session, first.view) == (3, ViewTold.of(told_run.look()).model_copy(update={"paused": False}))
    assert second.view.paused
    assert second.at > first.at
    remove_last_look(tmp_path)
    remove_last_look(tmp_path)
    assert names_in(tmp_path) == []


@pytest.mark.anyio
async def test_a_disk_that_refuses_costs_a_look(clock: Clock, told_run: Any, tmp_path: Path) -> None:
    """The look before stays whole, the next one is written again, and nothing is ever synced."""
    files = FullDisk(refusals=1)
    keeper = LookKeeper(tmp_path, 1, 2.0, told_run.look, clock=clock, files=files)
    await keep_for(keeper, 1)
    assert read_last_look(tmp_path) is None
    await keep_for(keeper, 1)
    assert read_last_look(tmp_path) is not None
    files.refusals = 1
    await keep_for(keeper, 1)
    assert read_last_look(tmp_path) is not None
    assert files.syncs == 0


@pytest.mark.anyio
async def test_a_look_at_very_many_trials_is_bounded(clock: Clock, told_run: Any, view_of: Any, tmp_path: Path) -> None:
    """The file stays below what its reader takes; the rest is counted."""
    told_run.trials = tuple(view_of(f"{'k' * 1500}{number}") for number in range(2000))
    await keep_for(LookKeeper(tmp_path, 1, 2.0, told_run.look, clock=clock), 1)
    look = read_last_look(tmp_path)
    assert look is not None
    assert len(look.view.trials) + look.view.left_off == 2000
    assert (tmp_path / LAST_LOOK).stat().st_size < LAST_LOOK_BYTES_MAX


@pytest.mark.anyio
@pytest.mark.parametrize(
    "change", [{"at": "yesterday"}, {"at": "2026-99-01T00:00:00.000000Z"}, {"session": "1"}, {"x": 1}]
)
async def test_a_file_that_was_spoilt_is_none(
    clock: Clock, told_run: Any, tmp_path: Path, change: dict[str, Any]
) -> None:
    """What is not exactly a look is as if there were none."""
    await keep_for(LookKeeper(tmp_path, 1, 2.0, told_run.look, clock=clock), 1)
    path = tmp_path / LAST_LOOK
    good = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps(good))
    assert read_last_look(tmp_path) is not None
    path.write_bytes(orjson.dumps(good | change))
    assert read_last_look(tmp_path) is None
    path.write_bytes(b"{")
    assert read_last_look(tmp_path) is None
