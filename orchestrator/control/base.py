"""What a live control needs of the engine."""

from __future__ import annotations

from typing import Protocol

from orchestrator.engine.view import RunView


class Controllable(Protocol):
    """A run at work. Every call returns at once and must come from the event loop that the run works on."""

    def pause(self) -> None:
        """Lease nothing more until ``unpause``; what runs goes on."""

    def unpause(self) -> None:
        """Lease again."""

    def drain(self) -> None:
        """Start nothing more and end; the rest stays owed."""

    def cancel(self) -> None:
        """End; what is owed becomes cancelled, what runs too."""

    def adjust(self, key: str, value: int | float) -> None:
        """Take a new value of a live key, as in ``engine.in_flight``; it is a right one."""

    def look(self) -> RunView:
        """What is on its way."""
