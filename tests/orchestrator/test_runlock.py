"""At most one live process owns a run directory, and a dead one owns nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from orchestrator.runlock import LOCK_NAME, RunLock
from spec.errors import InputError, JournalUnwritable, RunLocked

CONTENDER: Final = """
import sys
from pathlib import Path
from orchestrator.runlock import RunLock
from spec.errors import RunLocked
sys.stdin.readline()
try:
    lock = RunLock.acquire(Path(sys.argv[1]), create=True)
except RunLocked as error:
    print("lost", flush=True)
    sys.exit(error.exit_code)
print("won", flush=True)
sys.stdin.readline()
"""


def _contender(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CONTENDER, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def _say(contender: subprocess.Popen[str], text: str) -> None:
    assert contender.stdin is not None
    contender.stdin.write(text)
    contender.stdin.flush()


def _hear(contender: subprocess.Popen[str]) -> str:
    assert contender.stdout is not None
    return contender.stdout.readline().strip()


def _end(contender: subprocess.Popen[str]) -> int:
    contender.communicate(timeout=20)
    return contender.returncode


def test_a_second_start_is_refused_and_told_where(tmp_path: Path) -> None:
    """While a lock is held, a second start fails at once with the directory and the owner; afterwards it succeeds."""
    directory = tmp_path / "run"
    with RunLock.acquire(directory, create=True):
        with pytest.raises(RunLocked, match=rf"{directory}: another process \({os.getpid()}\) runs here") as info:
            RunLock.acquire(directory)
        assert info.value.exit_code == 5
    RunLock.acquire(directory).release()


def test_directory_and_lock_are_private(tmp_path: Path) -> None:
    """A run directory made for the lock is 0700, the lock file 0600."""
    with RunLock.acquire(tmp_path / "runs" / "one", create=True):
        assert stat.S_IMODE((tmp_path / "runs" / "one").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "runs" / "one" / LOCK_NAME).stat().st_mode) == 0o600


def test_a_missing_directory_is_not_made_by_accident(tmp_path: Path) -> None:
    """Whoever resumes a run that does not exist is told so, and nothing is made."""
    with pytest.raises(InputError, match="no such run directory"):
        RunLock.acquire(tmp_path / "typo")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_cannot_be_made_is_unwritable(tmp_path: Path) -> None:
    """Where the lock file cannot be opened, the run directory is unwritable, with the path."""
    (tmp_path / LOCK_NAME).mkdir()
    with pytest.raises(JournalUnwritable, match=LOCK_NAME):
        RunLock.acquire(tmp_path)


def test_release_may_be_repeated(tmp_path: Path) -> None:
    """A second release does nothing, not even to a descriptor that was given to somebody else meanwhile."""
    lock = RunLock.acquire(tmp_path)
    lock.release()
    other = os.open(tmp_path, os.O_RDONLY)
    lock.release()
    os.close(other)


def test_discard_leaves_no_file(tmp_path: Path) -> None:
    """A directory that is none of ours is left as it was found."""
    RunLock.acquire(tmp_path).discard()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_on_a_removed_file_is_not_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever locks a file that was removed in between locks the new one instead, so two never own a directory."""
    first = RunLock.acquire(tmp_path)
    genuine = os.open
    opened: list[int] = []

    def open_then_lose(path: Path, flags: int, mode: int = 0o777) -> int:
        descriptor = genuine(path, flags, mode)
        if not opened:
            first.discard()
        opened.append(descriptor)
        return descriptor

    monkeypatch.setattr(os, "open", open_then_lose)
    second = RunLock.acquire(tmp_path)
    monkeypatch.undo()
    assert len(opened) == 2
    with second, pytest.raises(RunLocked):
        RunLock.acquire(tmp_path)


def test_of_ten_starts_at_once_exactly_one_wins(tmp_path: Path) -> None:
    """Ten processes let loose together on a directory that does not exist yet: one owns it, nine leave with 5."""
    contenders = [_contender(tmp_path / "run") for _ in range(10)]
    for contender in contenders:
        _say(contender, "go\n")
    heard = [_hear(contender) for contender in contenders]
    codes = [_end(contender) for contender in contenders]
    assert sorted(heard) == ["lost"] * 9 + ["won"]
    assert sorted(codes) == [0] + [5] * 9


def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    """After kill -9 of the owner the next start succeeds: there is no stale lock to remove."""
    owner = _contender(tmp_path)
    _say(owner, "go\n")
    assert _hear(owner) == "won"
    with pytest.raises(RunLocked, match=str(owner.pid)):
        RunLock.acquire(tmp_path)
    owner.kill()
    assert _end(owner) == -signal.SIGKILL
    RunLock.acquire(tmp_path).release()


def test_programs_started_by_the_owner_do_not_hold_the_lock(tmp_path: Path) -> None:
    """A child that outlives the owner's lock does not keep the directory locked."""
    lock = RunLock.acquire(tmp_path)
    with subprocess.Popen(
        ["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, close_fds=False
    ) as child:
        _say(child, "started\n")
        assert _hear(child) == "started"
        lock.release()
        RunLock.acquire(tmp_path).release()
        child.communicate()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_copy_of_the_owner_does_not_hold_the_lock(tmp_path: Path) -> None:
    """A child that an arm forks without starting a program has no lock, so that it keeps nobody out when it stays."""
    lock = RunLock.acquire(tmp_path)
    there, waits = os.pipe(), os.pipe()
    copy = os.fork()
    if not copy:
        os.close(waits[1])
        os.write(there[1], b".")
        os.read(waits[0], 1)
        os._exit(0)
    try:
        os.read(there[0], 1)
        lock.release()
        RunLock.acquire(tmp_path).release()
    finally:
        os.close(waits[1])
        os.waitpid(copy, 0)
        for descriptor in (*there, waits[0]):
            os.close(descriptor)
