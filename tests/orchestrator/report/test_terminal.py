from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from orchestrator.report import Report, print_report

if TYPE_CHECKING:
    from tests.orchestrator.report.conftest import MakeReport


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(report: Report, stream: io.StringIO, *, full: bool = False) -> str:
    print_report(report, stream, full=full)
    return stream.getvalue()


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def test_a_pipe_gets_plain_whole_lines(make_report: MakeReport) -> None:
    """Where nobody looks there is no colour, and the conservation line is one line."""
    text = printed(make_report(), io.StringIO())
    assert "\x1b" not in text
    assert "90 planned = 90 scored + 0 unreadable + 0 infrastructure + 0 cancelled + 0 owed\n" in text
    assert "50/90 = 0.5556 (0.4500 to 0.6500)" in text
    assert "0/0, no rate" in text


def test_a_terminal_gets_colour_unless_it_is_refused(make_report: MakeReport, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal warnings are coloured; with NO_COLOR set no colour code is written."""
    assert "\x1b[33m" in printed(make_report(), Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[33m" not in printed(make_report(), Terminal())


def test_foreign_text_cannot_move_the_cursor(make_report: MakeReport, evil: str) -> None:
    """Terminal codes in names and messages are written out, in head, figures and sections."""
    text = printed(make_report(evil), io.StringIO(), full=True)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31mred" in text


def test_markup_in_a_text_is_not_obeyed(make_report: MakeReport) -> None:
    """What looks like the library's own markup or an emoji code is printed as it stands."""
    assert "[bold]x[/bold] :smile:" in printed(make_report("[bold]x[/bold] :smile:"), io.StringIO())


def test_sections_are_printed_on_demand(make_report: MakeReport) -> None:
    """The kind's sections stand in the full report only."""
    assert "Title plain" not in printed(make_report(), io.StringIO())
    assert "Title plain" in printed(make_report(), io.StringIO(), full=True)


@pytest.mark.parametrize(("columns", "side_by_side"), [("58", False), ("200", True)])
def test_a_narrow_terminal_folds_no_figure(
    make_report: MakeReport, monkeypatch: pytest.MonkeyPatch, columns: str, side_by_side: bool
) -> None:
    """Where the figures do not fit side by side they stand one below the other, each whole and with its name."""
    monkeypatch.setenv("COLUMNS", columns)
    text = printed(make_report(), Terminal())
    found = next(line for line in text.splitlines() if "50/90 = 0.5556 (0.4500 to 0.6500)" in line)
    assert ("SWER" in found, "no rate" in found) == (not side_by_side, side_by_side)


class Gone(io.StringIO):
    """A pipe whose reader has gone away."""

    def write(self, text: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_reader_that_has_gone_away_ends_nothing(make_report: MakeReport) -> None:
    """`run 2>&1 | head -1` ends as the run ended."""
    assert printed(make_report(), Gone()) == ""
