"""What a killed driver leaves behind is ended and removed, and nobody else is touched."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from orchestrator.engine import reaper

END_S: Final = 10.0
"""A run's processes are gone this long after its driver."""

WRITES: Final = "log = open(sys.argv[1] + '/log', 'a')"
READS: Final = "log = open(sys.argv[1] + '/log')"
BINDS: Final = "peer = socket.socket(socket.AF_UNIX); peer.bind(sys.argv[1] + '/peer')"
NOTHING: Final = "pass"

DRIVER: Final = textwrap.dedent(
    """
    import subprocess, sys
    from pathlib import Path
    from orchestrator.engine.reaper import reaping
    with reaping(Path(sys.argv[1])):
        child = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stdout=subprocess.PIPE)
        child.stdout.readline()
        print(child.pid, flush=True)
        {then}
    """
)

Start = Callable[..., "subprocess.Popen[str]"]


def user_code(uses: str) -> str:
    return f"import socket, sys\n{uses}\nprint('ready', flush=True)\nsys.stdin.read()"


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a Python process that waits; whatever is left of them ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(code: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A cluster's private directory with a log in it."""
    made = tmp_path / "to-private"
    made.mkdir()
    (made / "log").touch()
    return made


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def user(start: Start, uses: str, directory: Path, *more: str) -> subprocess.Popen[str]:
    process = start(user_code(uses), str(directory), *more)
    assert hear(process) == "ready"
    return process


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return (reaper.PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("uses", [WRITES, BINDS], ids=["writes", "binds"])
def test_who_uses_the_directory_is_found(start: Start, directory: Path, uses: str) -> None:
    """A process with a file open for writing, or a socket, under the directory is one of its users."""
    process = user(start, uses, directory)
    assert reaper.users_of(directory, began=0) == [process.pid]


def test_who_is_told_the_directory_in_an_option_is_found(start: Start, directory: Path) -> None:
    """A process that was started with an option that points into the directory is one of its users."""
    process = user(start, NOTHING, directory, f"--log_dir={directory}/logs")
    assert reaper.users_of(directory, began=0) == [process.pid]


@pytest.mark.parametrize("uses", [READS, NOTHING], ids=["reads", "names"])
def test_who_only_looks_is_left_alone(start: Start, directory: Path, uses: str) -> None:
    """A process that reads a log there, or only has the path as an argument, is not one of its users."""
    process = user(start, uses, directory)
    assert reaper.reap(directory, began=0) == 0
    assert process.poll() is None


def test_a_directory_with_a_longer_name_is_another_one(start: Start, directory: Path) -> None:
    """A process of ``to-private2`` is no process of ``to-private``."""
    other = directory.with_name(directory.name + "2")
    other.mkdir()
    process = user(start, WRITES, other, f"--dir={other}")
    assert reaper.users_of(directory, began=0) == []
    assert reaper.users_of(other, began=0) == [process.pid]


def test_who_was_there_before_is_left_alone(start: Start, directory: Path) -> None:
    """A process that began before the reaper cannot belong to its cluster."""
    process = user(start, WRITES, directory)
    assert reaper.users_of(directory, began=reaper.started_at(process.pid) + 1) == []


def test_users_are_ended(start: Start, directory: Path) -> None:
    """Reaping kills the users, counts them, and leaves the others running."""
    users = [user(start, uses, directory) for uses in (WRITES, BINDS)]
    bystander = user(start, READS, directory)
    assert reaper.reap(directory, began=0) == len(users)
    assert [process.wait(END_S) for process in users] == [-signal.SIGKILL] * len(users)
    assert bystander.poll() is None


def test_after_a_kill_of_the_driver_nothing_is_left(start: Start, directory: Path) -> None:
    """A driver that is killed leaves neither its cluster's processes nor their directory for ten seconds."""
    bystander = user(start, READS, directory)
    driver = start(DRIVER.format(then="sys.stdin.read()"), str(directory), user_code(WRITES))
    child = int(hear(driver))
    assert is_alive(child)
    driver.kill()
    assert eventually(lambda: not is_alive(child) and not directory.exists())
    assert bystander.poll() is None


def test_after_an_error_nothing_is_left(start: Start, directory: Path) -> None:
    """A cluster that came up by half is cleared before the driver goes on."""
    driver = start(DRIVER.format(then="raise SystemExit(7)"), str(directory), user_code(WRITES))
    child = int(hear(driver))
    assert driver.wait(END_S) == 7
    assert not is_alive(child)
    assert not directory.exists()


def test_after_a_good_end_the_reaper_only_goes(start: Start, directory: Path) -> None:
    """A driver that ends in order finds its directory, and whoever uses it, as it left them."""
    process = user(start, WRITES, directory)
    with reaper.reaping(directory):
        assert process.poll() is None
    assert directory.exists()
    assert process.poll() is None


def test_without_proc_there_is_no_reaper(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine has no /proc, nothing is started."""
    monkeypatch.setattr(reaper, "PROC", directory)
    monkeypatch.setattr(subprocess, "Popen", None)
    with reaper.reaping(directory):
        assert directory.exists()


def eventually(holds: Callable[[], bool]) -> bool:
    """Whether something holds before the time is up; a socket's time-out is the pause between two looks."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.05)
        for _ in range(int(END_S / 0.05)):
            if holds():
                return True
            with contextlib.suppress(TimeoutError):
                ours.recv(1)
    return holds()
