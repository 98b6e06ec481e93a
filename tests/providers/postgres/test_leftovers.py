from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.postgres import leftovers
from providers.postgres.leftovers import PREFIX, claim, clear, sweep

SLEEPER = "import sys, time; print('up', flush=True); time.sleep(600)"


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process at work in ``tmp_path/topg-left``, as a server is in its data."""
    home = tmp_path / f"{PREFIX}left"
    home.mkdir(mode=0o711)
    with subprocess.Popen([sys.executable, "-c", SLEEPER], cwd=home, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process
        process.kill()


def disown(home: Path) -> None:
    """As if the process that claimed a directory had ended: its number belongs to one that began at another time."""
    owner = json.loads((home / "owner.json").read_text())
    (home / "owner.json").write_text(json.dumps({**owner, "started": owner["started"] - 1}))


def test_a_killed_owners_directory_goes_with_its_processes(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    """What still runs in the directory of a dead process is ended, and the directory removed."""
    home = tmp_path / f"{PREFIX}left"
    claim(home)
    disown(home)
    assert sweep([tmp_path]) == 1
    assert not home.exists()
    assert sleeper.wait(5) == -15


def test_who_does_not_end_is_killed(tmp_path: Path) -> None:
    """A process that takes no notice of being asked is killed."""
    home = tmp_path / f"{PREFIX}left"
    home.mkdir(mode=0o711)
    deaf = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEPER}"
    with subprocess.Popen([sys.executable, "-c", deaf], cwd=home, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        clear(home)
        assert process.wait(5) == -9
    assert not home.exists()


def test_a_living_owners_directory_stays(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    """A directory whose process lives is left alone, and so is what runs there."""
    home = tmp_path / f"{PREFIX}left"
    claim(home)
    assert sweep([tmp_path]) == 0
    assert home.exists()
    assert sleeper.poll() is None


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"not json", b'{"pid": "1", "started": 1, "boot_id": "", "pid_namespace": ""}'],
)
def test_a_directory_that_names_nobody_stays(tmp_path: Path, body: bytes) -> None:
    """Without a whole note of its owner a directory is not touched."""
    home = tmp_path / f"{PREFIX}x"
    home.mkdir(mode=0o700)
    (home / "owner.json").write_bytes(body)
    assert sweep([tmp_path]) == 0
    assert home.exists()


def test_a_directory_that_others_can_write_stays(tmp_path: Path) -> None:
    """A note in a directory where anybody could have put it is not believed."""
    home = tmp_path / f"{PREFIX}x"
    home.mkdir()
    claim(home)
    disown(home)
    home.chmod(0o777)
    assert sweep([tmp_path]) == 0
    assert home.exists()


def test_another_process_space_is_not_judged(tmp_path: Path) -> None:
    """An owner in a process space that we do not see is never called dead; one of an earlier boot always is."""
    home = tmp_path / f"{PREFIX}x"
    home.mkdir(mode=0o700)
    claim(home)
    owner = json.loads((home / "owner.json").read_text())
    (home / "owner.json").write_text(json.dumps({**owner, "pid_namespace": "pid:[1]", "started": 0}))
    assert sweep([tmp_path]) == 0
    (home / "owner.json").write_text(json.dumps({**owner, "boot_id": "earlier"}))
    assert sweep([tmp_path]) == 1


def test_clearing_frees_only_the_memory_that_the_kernel_confirms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment is freed only if key, id and maker in the server's note are those that the kernel knows."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "postmaster.pid").write_text("77\n/d\n1\n5432\n/s\n\n   3774   12\nready\n")
    kernel = tmp_path / "proc" / "sysvipc"
    kernel.mkdir(parents=True)
    monkeypatch.setattr(leftovers, "_PROC", tmp_path / "proc")
    header = "key shmid perms size cpid lpid nattch\n"
    (kernel / "shm").write_text(f"{header} 3774 12 600 56 78 78 0\n")
    assert leftovers._shared_memory_of(tmp_path) is None
    (kernel / "shm").write_text(f"{header} 3774 12 600 56 77 78 0\n")
    assert leftovers._shared_memory_of(tmp_path) == "12"


def test_clearing_what_is_gone_does_nothing(tmp_path: Path) -> None:
    """Two that clear the same directory do not disturb each other."""
    clear(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
