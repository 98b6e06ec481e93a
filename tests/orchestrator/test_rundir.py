"""A run gets a directory of its own, and never somebody else's."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator import rundir
from orchestrator.config import RunConfig, config_from_mapping
from orchestrator.rundir import given_run_dir, new_run_dir
from spec.errors import InputError, RunLocked

DIGEST = "sha256:abcdef0123"


class StillClock:
    """Always the same moment."""

    def monotonic(self) -> float:
        return 0.0

    def utc_now(self) -> str:
        return "2026-01-31T12:00:05.123456Z"

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"nothing waits {seconds} s here")


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    """A configuration whose runs go below a folder that does not exist yet."""
    mapping = {
        "format": 1,
        "run": {"name": "try", "dir": str(tmp_path / "runs")},
        "provider": {"use": "mockmed"},
        "arms": [{"name": "a", "use": "screen_only"}],
    }
    return config_from_mapping(mapping, tmp_path, environ={}).config


def test_the_name_tells_run_time_and_plan(config: RunConfig, tmp_path: Path) -> None:
    """The directory is new, private, locked, and named by run, second and plan digest."""
    lock, run_id = new_run_dir(config, DIGEST, StillClock())
    with lock:
        assert run_id == "try-20260131T120005Z-abcdef"
        assert lock.directory == tmp_path / "runs" / run_id
        assert stat.S_IMODE(lock.directory.stat().st_mode) == 0o700
        with pytest.raises(RunLocked):
            given_run_dir(lock.directory)


def test_runs_of_one_second_are_numbered(config: RunConfig) -> None:
    """The second and third run of the same plan in the same second get numbers, even after the first has ended."""
    ids = []
    for _ in range(3):
        lock, run_id = new_run_dir(config, DIGEST, StillClock())
        ids.append(run_id)
        lock.release()
    base = "try-20260131T120005Z-abcdef"
    assert ids == [base, f"{base}-2", f"{base}-3"]


def test_there_is_an_end_to_the_numbers(config: RunConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every name is taken the run is refused instead of searching for ever."""
    monkeypatch.setattr(rundir, "_SAME_NAME_MAX", 3)
    for _ in range(3):
        new_run_dir(config, DIGEST, StillClock())[0].release()
    with pytest.raises(InputError, match="have the name"):
        new_run_dir(config, DIGEST, StillClock())


@pytest.mark.parametrize("exists", [True, False])
def test_a_new_or_empty_directory_is_taken(tmp_path: Path, exists: bool) -> None:
    """It is made where it is missing, and made private either way."""
    folder = tmp_path / "below" / "mine"
    if exists:
        folder.mkdir(parents=True, mode=0o755)
    with given_run_dir(folder) as lock:
        assert lock.directory == folder
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_directory_with_a_run_points_at_resume(tmp_path: Path) -> None:
    """A journal is never begun a second time; the lock is free again afterwards."""
    (tmp_path / "journal.jsonl").write_text("x")
    for _ in range(2):
        with pytest.raises(InputError, match="use `resume"):
            given_run_dir(tmp_path)
    assert (tmp_path / "journal.jsonl").read_text() == "x"


def test_a_directory_with_other_files_is_left_as_it_was(tmp_path: Path) -> None:
    """One of the files is named, and no file of ours is left behind."""
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match=r"not empty \(thesis.txt\)"):
        given_run_dir(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    """A path to a file is refused in one sentence."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is no directory"):
        given_run_dir(tmp_path / "file")
