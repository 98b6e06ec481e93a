"""What a run tells whoever watches it; the command line shows it, a notebook may ignore it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        ended: trials with a terminal line, of earlier sessions too.
        in_flight: trials on their way.
        headlines: arm -> the kind's headline figures so far in this session; None where nothing is scored.
        per_s: trials ended a second, in this session.
        left_s: seconds to the end at this rate, or None where nobody can tell.
    """

    planned: int
    ended: int
    owed: int
    in_flight: int
    headlines: Mapping[str, Mapping[str, float | None]]
    per_s: float
    left_s: float | None


class Watcher(Protocol):
    """Is told what happens."""

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """A session begins."""

    def notice(self, text: str) -> None:
        """Something that a person should know, in one line."""

    def progress(self, progress: Progress) -> None:
        """How far the run is; called about twice a second."""

    def ended(self) -> None:
        """Nothing more runs; the results are being written."""


class Silence:
    """Watches and says nothing."""

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """Say nothing."""

    def notice(self, text: str) -> None:
        """Say nothing."""

    def progress(self, progress: Progress) -> None:
        """Say nothing."""

    def ended(self) -> None:
        """Say nothing."""
