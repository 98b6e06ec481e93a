"""A committed line can be had again by its offset, and is checked once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.journal import LineReader, LineType
from orchestrator.journal.lines import frame
from spec.errors import JournalDamaged


def _line(text: str) -> bytes:
    return frame(1, "0123abcd", LineType.NOTE, "t", None, {"text": text}).data


@pytest.mark.parametrize("size", [0, 4000, 4096, 5000, 70_000])
def test_a_line_of_any_length_is_read_whole(tmp_path: Path, size: int) -> None:
    """A line is found by its first byte, whether it is shorter or longer than one read, first or last in the file."""
    first, second = _line("a" * size), _line("b" * size)
    (tmp_path / "journal.jsonl").write_bytes(first + second)
    with LineReader(tmp_path / "journal.jsonl") as reader:
        assert reader.read(0) == first
        assert reader.read(len(first)) == second


def test_an_offset_between_lines_is_an_error(tmp_path: Path) -> None:
    """An offset inside of a line or behind the end is never answered with a piece."""
    line = _line("a")
    (tmp_path / "journal.jsonl").write_bytes(line)
    with LineReader(tmp_path / "journal.jsonl") as reader:
        for offset in range(1, len(line) + 2):
            with pytest.raises(JournalDamaged, match=f"byte {offset}"):
                reader.read(offset)


def test_a_line_without_its_break_is_no_line(tmp_path: Path) -> None:
    """A torn line is an error, not a row."""
    (tmp_path / "journal.jsonl").write_bytes(_line("a")[:-1])
    with LineReader(tmp_path / "journal.jsonl") as reader, pytest.raises(JournalDamaged):
        reader.read(0)


def test_close_may_be_repeated(tmp_path: Path) -> None:
    """A second close does nothing."""
    (tmp_path / "journal.jsonl").write_bytes(_line("a"))
    reader = LineReader(tmp_path / "journal.jsonl")
    reader.close()
    reader.close()
