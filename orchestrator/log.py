"""``log.jsonl``: one JSON object a line, what happened around the trials. Nothing depends on it.

A line that the disk refuses ends no run.

Fields: ``at`` (UTC), ``level``, ``event``, and whatever belongs to the event. Appended by later sessions.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO, cast

import orjson
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

from orchestrator.files import FILE_MODE, unwritable
from orchestrator.watcher import Progress, Watcher
from spec.clock import Clock

LOG_NAME: Final = "log.jsonl"


class RunLog:
    """The log of one session.

    Args:
        run_dir: the run directory, which exists.
        clock: where the label of each line comes from.

    Raises:
        JournalUnwritable: the file cannot be opened.
    """

    def __init__(self, run_dir: Path, clock: Clock) -> None:
        path = run_dir / LOG_NAME
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
            os.fchmod(descriptor, FILE_MODE)
        except OSError as error:
            raise unwritable(path, error) from error
        self._file: TextIO = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")

        def stamp(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
            return {"at": clock.utc_now(), **event}

        logger = structlog.wrap_logger(
            structlog.WriteLogger(self._file),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.format_exc_info,
                stamp,
                structlog.processors.JSONRenderer(serializer=_serialise),
            ],
        )
        self.logger = cast(FilteringBoundLogger, logger)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):  # each line was flushed, or refused, when it was written
            self._file.close()


def _serialise(event: EventDict, **_: Any) -> str:  # noqa: ANN401 - structlog's own signature
    try:
        return orjson.dumps(event, default=str).decode()
    except TypeError:  # a text with half a surrogate pair, such as a path that is no UTF-8
        return json.dumps(event, default=str, separators=(",", ":"))


class LoggedWatcher:
    """Passes everything on to a watcher and writes down what a person was told."""

    def __init__(self, watcher: Watcher, logger: FilteringBoundLogger) -> None:
        self._watcher, self._logger = watcher, logger

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """Log and pass on."""
        with suppress(OSError):
            self._logger.info("started", planned=planned, owed=owed)
        self._watcher.started(run_dir, planned, owed)

    def notice(self, text: str) -> None:
        """Log and pass on."""
        with suppress(OSError):
            self._logger.warning("notice", text=text)
        self._watcher.notice(text)

    def progress(self, progress: Progress) -> None:
        """Pass on."""
        self._watcher.progress(progress)

    def ended(self) -> None:
        """Log and pass on."""
        with suppress(OSError):
            self._logger.info("ended")
        self._watcher.ended()
