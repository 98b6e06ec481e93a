"""A folder is written as records: a file has its path, its text and its mode."""

from __future__ import annotations

from pathlib import Path

import pytest

from providers.declared.writing.folder import FolderWriter
from spec.errors import ProviderFault


@pytest.fixture
def writer(tmp_path: Path) -> FolderWriter:
    """A writer of an empty folder."""
    return FolderWriter(tmp_path, "files")


def test_files_come_change_move_and_go(writer: FolderWriter, tmp_path: Path) -> None:
    """A record that is added, changed, renamed and removed is a file of that content, mode and place."""
    writer.insert("files", {"path": "2026/a.txt", "text": "one", "mode": "0640", "digest": "ignored"})
    file = tmp_path / "2026" / "a.txt"
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("one", 0o640)
    assert writer.update("files", {"path": "2026/a.txt", "text": "one"}, {"text": "two"}) == 1
    assert writer.update("files", {"text": "one"}, {"text": "three"}) == 0
    assert file.read_text() == "two"
    assert writer.update("files", {"mode": "0640"}, {"path": "b.txt"}) == 1
    assert [path.name for path in tmp_path.rglob("*.txt")] == ["b.txt"]
    assert writer.delete("files", {"text": "two"}) == 1
    assert list(tmp_path.rglob("*.txt")) == []
    assert list(writer.tables()) == ["files"]


def test_what_is_missing_is_filled_in(writer: FolderWriter, tmp_path: Path) -> None:
    """A record without a path gets one of its own, so that two of them are two files."""
    writer.insert("files", {})
    writer.insert("files", {})
    assert len(list(tmp_path.iterdir())) == 2


def test_no_record_leaves_the_folder(writer: FolderWriter) -> None:
    """A path that leads out of the folder, and a mode that is none, are refused."""
    with pytest.raises(ProviderFault, match="out of its folder"):
        writer.insert("files", {"path": "../elsewhere"})
    with pytest.raises(ProviderFault, match="octal"):
        writer.insert("files", {"path": "a", "mode": "rw"})


def test_nothing_is_written_over_by_a_new_record(writer: FolderWriter, tmp_path: Path) -> None:
    """A new record, or one that moves, where something stands already is refused, and what stands is as it was."""
    writer.insert("files", {"path": "2025/a.txt", "text": "old"})
    writer.insert("files", {"path": "b.txt", "text": "mine"})
    for path in ("2025/a.txt", "2025"):
        with pytest.raises(ProviderFault, match="stands"):
            writer.insert("files", {"path": path, "text": "new"})
        with pytest.raises(ProviderFault, match="stands"):
            writer.update("files", {"path": "b.txt"}, {"path": path})
    assert (tmp_path / "2025" / "a.txt").read_text() == "old"


def test_directories_are_records_too(writer: FolderWriter, tmp_path: Path) -> None:
    """A directory is made, gets a mode, is turned into a file by a text, and goes with all that is in it."""
    writer.insert("files", {"path": "2025", "type": "directory", "mode": "0750"})
    assert (tmp_path / "2025").is_dir()
    assert writer.update("files", {"path": "2025", "mode": "0750"}, {"mode": "0705"}) == 1
    assert (tmp_path / "2025").stat().st_mode & 0o777 == 0o705
    writer.insert("files", {"path": "2025/a.txt"})
    assert writer.update("files", {"path": "2025"}, {"text": "a file now"}) == 1
    assert (tmp_path / "2025").read_text() == "a file now"
    writer.insert("files", {"path": "2026/b.txt"})
    assert writer.delete("files", {"path": "2026"}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2025"]
