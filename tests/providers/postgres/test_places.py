from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from providers.postgres import places
from providers.postgres.user import ServerUser


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for the memory file system; temporary files are beside it."""
    made = tmp_path / "memory"
    made.mkdir()
    monkeypatch.setattr(places, "MEMORY", made)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return made


def test_memory_is_taken_where_it_has_room(memory: Path, tmp_path: Path) -> None:
    """With enough room the files are in memory, with too little among the temporary files or in /tmp."""
    assert places.best_root(free_bytes_min=1) == memory
    short = tmp_path if len(str(tmp_path)) < places.SOCKET_PATH_BYTES_MAX // 2 else Path("/tmp")
    assert places.best_root(free_bytes_min=2**80) == short


def test_a_long_path_is_not_used_for_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the temporary files lie deep, the short /tmp is taken: a socket's path has at most 107 bytes."""
    monkeypatch.setattr(tempfile, "tempdir", "/" + "x" * 80)
    assert places.best_root(free_bytes_min=2**80) == Path("/tmp")


def test_a_private_directory_is_owned_and_closed(memory: Path) -> None:
    """Others may pass through a private directory but not list it; a part of it is closed, whatever the umask."""
    before = os.umask(0o077)
    try:
        home = places.make_private(memory)
        part = places.make_part(home, "keys", ServerUser(1, 1, changed=False))
    finally:
        os.umask(before)
    assert home.stat().st_mode & 0o777 == 0o711
    assert (home / "owner.json").stat().st_mode & 0o777 == 0o600
    assert part.stat().st_mode & 0o777 == 0o700
    assert part.stat().st_uid == os.geteuid()
