"""Where the socket of a run lies."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.control.place import SOCKET_PATH_BYTES_MAX, identity, linked, linked_socket, private_path, short_root


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A directory with a path that is too long for a socket."""
    directory = tmp_path / ("long" * 30)
    directory.mkdir()
    return directory


@pytest.fixture
def temp_dir(tmp_path: Path) -> Path:
    """A directory for temporary files."""
    directory = tmp_path / "tmp"
    directory.mkdir()
    return directory


@pytest.fixture
def strict_umask() -> Iterator[None]:
    """A umask that takes everything."""
    before = os.umask(0o777)
    yield
    os.umask(before)


@contextmanager
def socket_place(run_dir: Path, temp_dir: Path) -> Iterator[Path]:
    """Both contexts, as the server enters them."""
    with private_path(temp_dir) as path, linked(run_dir, path):
        yield path


def listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    return listener


def test_the_path_is_short_private_and_gone_afterwards(run_dir: Path, temp_dir: Path, strict_umask: None) -> None:
    """Whatever the umask, the directory is 0700; link and directory last as long as the context."""
    with socket_place(run_dir, temp_dir) as path:
        assert len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert (run_dir / "control").readlink() == path
        with listen(path):
            assert linked_socket(run_dir) == path
    assert not path.parent.exists()
    assert list(run_dir.iterdir()) == []


def test_a_long_temporary_directory_is_left_for_tmp(tmp_path: Path) -> None:
    """A root that leaves no room for the socket's name is not used."""
    assert short_root(Path("/var/tmp")) == Path("/var/tmp")
    assert short_root(tmp_path / ("x" * SOCKET_PATH_BYTES_MAX)) == Path("/tmp")


def test_what_a_killed_session_left_is_cleared(run_dir: Path, temp_dir: Path) -> None:
    """Its link is replaced, its socket and its private directory are removed."""
    stale = temp_dir / "toc-12345678"
    stale.mkdir(0o700)
    listen(stale / "control").close()
    (run_dir / "control").symlink_to(stale / "control")
    with socket_place(run_dir, temp_dir) as path:
        assert (run_dir / "control").readlink() == path
        assert list(temp_dir.iterdir()) == [path.parent]


@pytest.mark.parametrize("name", ["elsewhere", "toc-1234567", "toc-12345678"])
def test_only_what_is_certainly_ours_is_cleared(run_dir: Path, temp_dir: Path, name: str) -> None:
    """A link that leads to somebody's file is replaced; the file stays."""
    theirs = temp_dir / name
    theirs.mkdir()
    (theirs / "thesis").write_text("mine")
    (run_dir / "control").symlink_to(theirs / "thesis")
    with socket_place(run_dir, temp_dir) as path:
        assert (run_dir / "control").readlink() == path
    assert (theirs / "thesis").read_text() == "mine"


def test_a_file_in_the_way_is_not_replaced(run_dir: Path, temp_dir: Path) -> None:
    """What is no link is not ours: there is no control then, and nothing is left behind."""
    (run_dir / "control").write_text("mine")
    with pytest.raises(OSError, match="in the way"), socket_place(run_dir, temp_dir):
        pytest.fail("there is no place")
    assert (run_dir / "control").read_text() == "mine"
    assert list(temp_dir.iterdir()) == []


def test_a_link_that_leads_to_no_socket_leads_nowhere(run_dir: Path, temp_dir: Path) -> None:
    """A file, a relative path, a link to a socket and a path that is too long are no control."""
    assert linked_socket(run_dir) is None
    (temp_dir / "file").touch()
    (temp_dir / "to-file").symlink_to(temp_dir / "file")
    for target in (temp_dir / "file", temp_dir / "to-file", temp_dir / "none", Path("control"), Path("x" * 2000)):
        (run_dir / "control").unlink(missing_ok=True)
        (run_dir / "control").symlink_to(target)
        assert linked_socket(run_dir) is None


def test_a_forked_copy_removes_nothing(run_dir: Path, temp_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that leaves the context and is not the one that entered it leaves link and directory alone."""
    with socket_place(run_dir, temp_dir) as path:
        monkeypatch.setattr(os, "getpid", lambda: -1)
    assert path.parent.is_dir()
    assert (run_dir / "control").is_symlink()


def test_a_directory_is_the_same_by_every_name(run_dir: Path, tmp_path: Path) -> None:
    """Another path to it is the same directory, a copy is not."""
    (tmp_path / "short").symlink_to(run_dir)
    assert identity(tmp_path / "short") == identity(run_dir) != identity(tmp_path)
