"""``in_flight.json``: what was on its way when a run was last looked at, for whoever asks after it has died.

It is replaced every few seconds and never synced: a machine that loses power may lose it, and nothing rests on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from anyio import CapacityLimiter, to_thread
from pydantic import AfterValidator, Field, ValidationError

from orchestrator.control.protocol import Message, ViewTold, to_line
from orchestrator.engine.view import RunView
from orchestrator.files import OS_FILES, FileSystem, write_whole
from spec.clock import Clock

LAST_LOOK: Final = "in_flight.json"
LAST_LOOK_BYTES_MAX: Final = 1024 * 1024
_TRIALS_BYTES_MAX: Final = 512 * 1024
_MOMENT: Final = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$"


def _is_moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


class LastLook(Message):
    """The file's one object.

    Attributes:
        session: which session of the run wrote it, from 1.
        at: when, UTC.
    """

    format: Literal[1] = 1
    session: int
    at: Annotated[str, Field(pattern=_MOMENT), AfterValidator(_is_moment)]
    view: ViewTold


def read_last_look(run_dir: Path) -> LastLook | None:
    """The last look, or None where there is none that can be read."""
    try:
        with (run_dir / LAST_LOOK).open("rb") as file:
            return LastLook.model_validate_json(file.read(LAST_LOOK_BYTES_MAX), strict=True)
    except (OSError, ValidationError):
        return None


def remove_last_look(run_dir: Path, files: FileSystem = OS_FILES) -> None:
    """Remove the file, where there is one: from here on the journal alone says how it ended."""
    with contextlib.suppress(OSError):
        files.unlink(run_dir / LAST_LOOK)


class LookKeeper:
    """Writes the last look while a run works.

    Args:
        run_dir: the run directory.
        session: which session of the run this is, from 1.
        every_s: seconds between two looks.
        look: looks.
        clock: where time comes from.
        files: the disk.
    """

    def __init__(
        self,
        run_dir: Path,
        session: int,
        every_s: float,
        look: Callable[[], RunView],
        *,
        clock: Clock,
        files: FileSystem = OS_FILES,
    ) -> None:
        self.every_s = every_s
        self._path = run_dir / LAST_LOOK
        self._session, self._look, self._clock, self._files = session, look, clock, files
        self._thread = CapacityLimiter(1)  # of its own: arms may fill the common pool

    async def keep(self) -> None:
        """Write until cancelled; a look that the disk refuses is left out."""
        while True:
            view = ViewTold.of(self._look(), trials_bytes_max=_TRIALS_BYTES_MAX)
            line = to_line(LastLook(session=self._session, at=self._clock.utc_now(), view=view))
            with contextlib.suppress(OSError):
                await to_thread.run_sync(self._put, line, limiter=self._thread)
            await self._clock.sleep(self.every_s)

    def _put(self, line: bytes) -> None:
        temporary = self._path.with_name(f".{LAST_LOOK}.tmp")
        with contextlib.suppress(FileNotFoundError):
            self._files.unlink(temporary)
        descriptor = self._files.create(temporary)
        try:
            write_whole(self._files, descriptor, line)
        finally:
            self._files.close(descriptor)
        self._files.replace(temporary, self._path)
