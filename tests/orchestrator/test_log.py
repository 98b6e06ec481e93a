"""The log is one JSON object a line, private, appended to, and never in the way of what it writes down."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from orchestrator.log import LOG_NAME, LoggedWatcher, RunLog
from orchestrator.watcher import Progress
from spec.errors import JournalUnwritable


class StillClock:
    """Always the same moment."""

    def monotonic(self) -> float:
        return 0.0

    def utc_now(self) -> str:
        return "2026-01-31T12:00:00.000000Z"

    async def sleep(self, seconds: float) -> None:
        raise AssertionError(f"a log waits for nothing, but for {seconds} s here")


class Kept:
    """A watcher that keeps everything that it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        self.heard.append(("started", run_dir, planned, owed))

    def notice(self, text: str) -> None:
        self.heard.append(("notice", text))

    def progress(self, progress: Progress) -> None:
        self.heard.append(("progress", progress))

    def ended(self) -> None:
        self.heard.append(("ended",))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LOG_NAME).read_bytes().splitlines()]


def test_a_line_has_time_level_event_and_what_belongs_to_it(tmp_path: Path) -> None:
    """Fields are kept with their types."""
    with RunLog(tmp_path, StillClock()) as log:
        log.logger.info("leased", count=3, arm="a")
    assert lines(tmp_path) == [
        {"at": "2026-01-31T12:00:00.000000Z", "level": "info", "event": "leased", "count": 3, "arm": "a"}
    ]


def test_later_sessions_append_to_a_private_file(tmp_path: Path) -> None:
    """Nothing of an earlier session is lost, and others cannot read it."""
    for number in range(2):
        with RunLog(tmp_path, StillClock()) as log:
            log.logger.info("session", number=number)
    assert [line["number"] for line in lines(tmp_path)] == [0, 1]
    assert stat.S_IMODE((tmp_path / LOG_NAME).stat().st_mode) == 0o600


def test_whatever_is_logged_makes_a_line(tmp_path: Path) -> None:
    """Paths, line breaks, lone surrogates in names and errors do not break the file."""
    with RunLog(tmp_path, StillClock()) as log:
        log.logger.warning("odd", path=tmp_path, text="two\nlines", name="\udc80")
        try:
            raise KeyError("gone")
        except KeyError:
            log.logger.exception("failed")
    odd, failed = lines(tmp_path)
    assert (odd["path"], odd["text"]) == (str(tmp_path), "two\nlines")
    assert failed["level"] == "error"
    assert "KeyError: 'gone'" in failed["exception"]


def test_what_a_person_is_told_is_logged_and_passed_on(tmp_path: Path) -> None:
    """Beginning, notices and end stand in the log; progress is passed on alone."""
    watcher = Kept()
    progress = Progress(10, 1, 9, 2, {}, 0.5, None)
    with RunLog(tmp_path, StillClock()) as log:
        logged = LoggedWatcher(watcher, log.logger)
        logged.started(tmp_path, 10, 9)
        logged.notice("slow")
        logged.progress(progress)
        logged.ended()
    assert watcher.heard == [("started", tmp_path, 10, 9), ("notice", "slow"), ("progress", progress), ("ended",)]
    assert [(line["level"], line["event"]) for line in lines(tmp_path)] == [
        ("info", "started"),
        ("warning", "notice"),
        ("info", "ended"),
    ]
    assert (lines(tmp_path)[0]["planned"], lines(tmp_path)[0]["owed"]) == (10, 9)


def test_a_disk_that_refuses_a_line_ends_nothing(tmp_path: Path) -> None:
    """A person hears everything all the same; only a log that cannot even be opened is told of."""
    watcher = Kept()
    (tmp_path / LOG_NAME).symlink_to("/dev/full")
    with RunLog(tmp_path, StillClock()) as log:
        logged = LoggedWatcher(watcher, log.logger)
        logged.started(tmp_path, 10, 9)
        logged.notice("slow")
        logged.ended()
    assert [heard[0] for heard in watcher.heard] == ["started", "notice", "ended"]
    (tmp_path / "folder" / LOG_NAME).mkdir(parents=True)
    with pytest.raises(JournalUnwritable, match=LOG_NAME):
        RunLog(tmp_path / "folder", StillClock())


def test_a_closed_log_takes_nothing_more(tmp_path: Path) -> None:
    """Its file is given back at the end of the session."""
    with RunLog(tmp_path, StillClock()) as log:
        pass
    with pytest.raises(ValueError, match="closed file"):
        log.logger.info("late")
