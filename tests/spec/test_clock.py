"""The machine's clock gives labels in one form, and durations that never go backwards."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import anyio
import pytest

from spec.clock import Clock, SystemClock

SECOND_NS = 1_000_000_000


def test_a_label_is_utc_with_microseconds() -> None:
    """A label reads back as the moment at which it was asked for."""
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    label = clock.utc_now()
    after = datetime.now(UTC)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", label)
    assert before.replace(microsecond=before.microsecond) <= datetime.fromisoformat(label) <= after


def test_the_remembered_second_is_never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are right within a second, at its edges, and when the machine's time is set back."""
    moments_ns = [0, 1, 999_999_999, SECOND_NS, 1_769_860_800 * SECOND_NS + 1_234_567, SECOND_NS - 1000]
    ticking = iter(moments_ns)
    monkeypatch.setattr(time, "time_ns", lambda: next(ticking))
    clock = SystemClock()
    assert [clock.utc_now() for _ in moments_ns] == [
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.999999Z",
        "1970-01-01T00:00:01.000000Z",
        "2026-01-31T12:00:00.001234Z",
        "1970-01-01T00:00:00.999999Z",
    ]


def test_durations_never_go_backwards() -> None:
    """The monotonic clock only moves on."""
    clock = SystemClock()
    seen = [clock.monotonic() for _ in range(1000)]
    assert seen == sorted(seen)


@pytest.mark.anyio
async def test_waiting_is_the_event_loops() -> None:
    """Sleeping takes that long by the time of the loop."""
    began = anyio.current_time()
    await SystemClock().sleep(3600)
    assert anyio.current_time() - began == pytest.approx(3600)
