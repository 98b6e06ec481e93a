"""What a killed run left is swept up when the next one begins, and a living run is never touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.engine import leftovers
from orchestrator.engine.leftovers import OWNER, Run, claim, sweep
from orchestrator.engine.reaper import started_at

END_S: Final = 10.0
WRITER: Final = "import sys; log = open(sys.argv[1] + '/log', 'a'); print('ready', flush=True); sys.stdin.read()"

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes a private directory with an owner: this process, some fields changed."""

    def make_one(name: str = "to-one", **changed: Any) -> Path:
        directory = tmp_path / name
        directory.mkdir(mode=0o700)
        claim(directory, Run("r-1", tmp_path / "runs" / "r-1"))
        body = orjson.loads((directory / OWNER).read_bytes())
        (directory / OWNER).write_bytes(orjson.dumps({**body, **changed}))
        return directory

    return make_one


@pytest.fixture
def writer() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Starts a process that uses a directory."""
    started: list[subprocess.Popen[str]] = []

    def start(directory: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", WRITER, str(directory)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def dead_pid() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    process.wait()
    return process.pid


def swept(root: Path) -> list[str]:
    notices: list[str] = []
    sweep(root, notices.append)
    return notices


def test_what_a_dead_driver_left_is_cleared(
    make: Make, tmp_path: Path, writer: Callable[[Path], subprocess.Popen[str]]
) -> None:
    """Its processes end, its directory goes, and one line names the run."""
    directory = make(pid=dead_pid())
    process = writer(directory)
    (notice,) = swept(tmp_path)
    assert process.wait(END_S) == -9
    assert not directory.exists()
    assert "r-1" in notice
    assert "1 processes" in notice
    assert swept(tmp_path) == []


def test_a_number_that_went_to_another_process_is_no_sign_of_life(make: Make, tmp_path: Path) -> None:
    """A process of the same number that began at another time is not the driver."""
    directory = make(started=started_at(os.getpid()) - 1)
    assert swept(tmp_path) != []
    assert not directory.exists()


def test_a_machine_started_anew_has_no_old_drivers(make: Make, tmp_path: Path) -> None:
    """Whatever number it had, a driver of before the last boot is gone."""
    directory = make(boot_id="another")
    swept(tmp_path)
    assert not directory.exists()


def test_a_living_run_is_not_touched(
    make: Make, tmp_path: Path, writer: Callable[[Path], subprocess.Popen[str]]
) -> None:
    """The directory and the processes of a driver that lives stay as they are."""
    directory = make()
    process = writer(directory)
    assert swept(tmp_path) == []
    assert directory.exists()
    assert process.poll() is None


@pytest.mark.parametrize(
    "spoil",
    [
        lambda directory: (directory / OWNER).unlink(),
        lambda directory: (directory / OWNER).write_bytes(b'{"run_id": "r'),
        lambda directory: (directory / OWNER).write_bytes(b"[]"),
        lambda directory: (directory / OWNER).write_bytes(b'{"pid": 1}'),
        lambda directory: directory.chmod(0o755),
        lambda directory: directory.rename(directory.with_name("other-one")),
    ],
    ids=["none", "half", "list", "fields", "open", "name"],
)
def test_what_is_not_surely_ours_is_left_alone(make: Make, tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    """A directory without a whole owner file, that others can read or of another name may be somebody else's."""
    directory = make(pid=dead_pid())
    spoil(directory)
    assert swept(tmp_path) == []
    assert len(list(tmp_path.iterdir())) == 1


def test_a_process_space_that_cannot_be_seen_is_left_alone(make: Make, tmp_path: Path) -> None:
    """In a container with the same temporary directory, the driver's number means nothing."""
    directory = make(pid=dead_pid(), pid_namespace="pid:[1]")
    assert swept(tmp_path) == []
    assert directory.exists()


@pytest.mark.parametrize(("field", "value"), [("pid", "7"), ("pid", True), ("started", None), ("run_id", 3)])
def test_an_owner_of_another_form_is_no_owner(make: Make, tmp_path: Path, field: str, value: Any) -> None:
    """Nothing is converted and nothing is guessed."""
    make(**{field: value})
    assert swept(tmp_path) == []


def test_without_proc_nothing_is_claimed_or_swept(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine has no /proc, nobody could say who lives."""
    directory = make(pid=dead_pid())
    monkeypatch.setattr(leftovers, "PROC", tmp_path)
    assert swept(tmp_path) == []
    (directory / OWNER).unlink()
    claim(directory, Run("r", tmp_path))
    assert not (directory / OWNER).exists()
