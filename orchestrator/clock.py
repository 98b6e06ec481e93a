"""Time comes in by argument; what it looks like stands in ``spec.clock``, since the oracle needs it too."""

from __future__ import annotations

from spec.clock import Clock, SystemClock

__all__ = ["Clock", "SystemClock"]
