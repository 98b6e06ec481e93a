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

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._second, self._prefix = -1, ""

    def utc_now(self) -> str:
        """The machine's wall time; the part down to the second is made once a second, since a run asks all the time."""
        second, nanosecond = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._second, self._prefix = second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._prefix}.{nanosecond // 1000:06d}Z"

    async def sleep(self, seconds: float) -> None:
        """Wait on the event loop."""
        await anyio.sleep(seconds)
