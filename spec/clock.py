"""Time comes in by argument: durations from the monotonic clock, wall time only as a label."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

import anyio


class Clock(Protocol):
    """Where time comes from."""

    def monotonic(self) -> float:
        """Seconds that never go backwards; only differences mean anything."""

    def utc_now(self) -> str:
        """The wall time as UTC ISO 8601 with microseconds, a label and never an order."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def utc_now(self) -> str:
        """The machine's wall time."""
        return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await anyio.sleep(seconds)
