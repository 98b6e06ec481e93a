"""Shows a run to whoever sits before it: one line that is drawn over on a terminal, plain lines elsewhere.

Everything goes to standard error. A watcher is a context manager, so that the line is gone before anything else is
printed, also when the run fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from orchestrator.cli.interrupts import catch_signals, raise_swallowed
from orchestrator.cli.output import is_live_terminal, say
from orchestrator.report.text import visible
from orchestrator.watcher import Progress
from spec.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

PLAIN_EVERY_S: Final = 5.0
"""Seconds between two plain lines, at least."""

_PAIR: Final = 2


class QuietWatcher:
    """Remembers where the run lies and says nothing.

    Attributes:
        run_dir: the run directory, or None before there is one.
        at_end: called when the trials are over, to take the signals back from the engine.
    """

    def __init__(self) -> None:
        self.run_dir: Path | None = None
        self.at_end: Callable[[], None] = catch_signals
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """Remember the directory; a signal that was swallowed on the way here is raised before a trial starts."""
        self.run_dir = run_dir
        raise_swallowed()

    def notice(self, text: str) -> None:
        """Say nothing."""

    def progress(self, progress: Progress) -> None:
        """Say nothing."""

    def ended(self) -> None:
        """Take the signals back from the engine, and take the line away."""
        self.at_end()
        self._closing.close()


class PlainWatcher(QuietWatcher):
    """Writes a line now and then.

    Args:
        clock: where the time between two lines comes from.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._next_s = clock.monotonic() + PLAIN_EVERY_S

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """Say where the run lies and how much it owes."""
        super().started(run_dir, planned, owed)
        say(f"{run_dir}: {planned} trials, {owed} owed")

    def notice(self, text: str) -> None:
        """Say it."""
        say(visible(text))

    def progress(self, progress: Progress) -> None:
        """Say how far the run is, if it is time."""
        now = self._clock.monotonic()
        if now >= self._next_s:
            self._next_s = now + PLAIN_EVERY_S
            say(progress_line(progress))


class LiveWatcher(QuietWatcher):
    """Keeps one line at the bottom of a terminal up to date."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None

    def started(self, run_dir: Path, planned: int, owed: int) -> None:
        """Say where the run lies and how much it owes, and begin the line."""
        from rich.live import Live

        super().started(run_dir, planned, owed)
        console = _console()
        console.print(visible(f"{run_dir}: {planned} trials, {owed} owed"))
        self._live = self._closing.enter_context(Live(console=console, auto_refresh=False, transient=True))

    def notice(self, text: str) -> None:
        """Say it above the line."""
        console = self._live.console if self._live is not None else _console()
        console.print(visible(text), style="yellow")

    def progress(self, progress: Progress) -> None:
        """Draw the line anew."""
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(progress_line(progress), no_wrap=True, overflow="ellipsis"), refresh=True)


def watcher_for(quiet: bool) -> QuietWatcher:
    """The watcher that suits where standard error leads."""
    if quiet:
        return QuietWatcher()
    return LiveWatcher() if is_live_terminal(sys.stderr) else PlainWatcher(SystemClock())


def progress_line(progress: Progress) -> str:
    """How far a run is, in one line."""
    parts = [f"{progress.ended}/{progress.planned} ended, {progress.owed} owed, {progress.in_flight} in flight"]
    parts += [f"{arm} {_pair(figures)}" for arm, figures in progress.headlines.items()]
    parts.append(f"{progress.per_s:.1f}/s")
    if progress.left_s is not None:
        parts.append(f"{_duration(progress.left_s)} left")
    return " | ".join(parts)


def _pair(figures: Mapping[str, float | None]) -> str:
    """The kind's headline pair: its first two figures, never one without the other."""
    pair = list(figures.items())[:_PAIR]
    return ", ".join(f"{name} {'-' if value is None else f'{value:.3f}'}" for name, value in pair)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _console() -> Console:
    from orchestrator.report.terminal import console_on

    return console_on(sys.stderr)
