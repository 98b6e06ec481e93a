"""What a person sees of a running run."""

from __future__ import annotations

import contextlib
import os
import pty
from pathlib import Path

import pytest

from orchestrator.cli.watching import PLAIN_EVERY_S, LiveWatcher, PlainWatcher, progress_line, watcher_for
from orchestrator.watcher import Progress

PROGRESS = Progress(
    planned=180,
    ended=63,
    owed=117,
    in_flight=12,
    headlines={"a": {"swer": 0.5, "over_halt": None, "task_success": 0.25}},
    per_s=9.5,
    left_s=3725.0,
)


class HandClock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def utc_now(self) -> str:
        return "2026-01-31T12:00:00.000000Z"

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_line_has_the_headline_pair() -> None:
    """Owed, in flight, both figures of the pair, rate and time left; no third figure."""
    assert progress_line(PROGRESS) == (
        "63/180 ended, 117 owed, 12 in flight | a swer 0.500, over_halt - | 9.5/s | 1:02:05 left"
    )
    assert progress_line(PROGRESS._replace(left_s=None)).endswith("9.5/s")


def test_plain_lines_come_seldom(capfd: pytest.CaptureFixture[str]) -> None:
    """Off a terminal, progress is said at most every few seconds, on standard error."""
    clock = HandClock()
    watcher = PlainWatcher(clock)
    for _ in range(4):
        clock.now += PLAIN_EVERY_S / 2
        watcher.progress(PROGRESS)
    out, err = capfd.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 2


def test_quiet_and_pipes_get_no_drawing() -> None:
    """Only a terminal gets the line that is drawn over, and --quiet gets nothing."""
    assert not isinstance(watcher_for(False), LiveWatcher)
    assert type(watcher_for(True)).__name__ == "QuietWatcher"


def drain(terminal: int) -> bytes:
    """Everything that was written to a terminal whose other end is closed; one read gives only what has arrived."""
    parts = []
    with contextlib.suppress(OSError):  # how Linux says that the end is reached
        while part := os.read(terminal, 65536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("no_color", [True, False])
def test_a_terminal_gets_one_line(monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    """On a terminal the line is drawn and taken away; NO_COLOR leaves colours out."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        watcher = watcher_for(False)
        assert isinstance(watcher, LiveWatcher)
        with watcher:
            watcher.started(Path("run"), 180, 117)
            watcher.progress(PROGRESS)
            watcher.notice("look \x1b[31mhere")
    drawn = drain(ours).decode()
    os.close(ours)
    assert "117 owed" in drawn
    assert "look \\x1b[31mhere" in drawn
    assert ("\x1b[33m" in drawn) is not no_color
