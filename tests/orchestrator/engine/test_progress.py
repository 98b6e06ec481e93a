"""A watcher hears regularly how far a run is, in figures that add up."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from orchestrator.engine.progress import INTERVAL_S, report_progress
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from orchestrator.watcher import Progress, Silence
from spec.clock import Clock


class Kept(Silence):
    """A watcher that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[Progress] = []

    def progress(self, progress: Progress) -> None:
        self.heard.append(progress)


class Halves:
    """A kind whose headline is the number of labels."""

    def headline(self, labels: Counter[str]) -> dict[str, float | None]:
        return {"labels": float(sum(labels.values()))}


class Scene:
    def __init__(self) -> None:
        self.ledger = Ledger(Plan(["t"], ["a"], 100))
        self.trials = SimpleNamespace(active={1: "x", 2: "y"})
        self.labels = {"a": Counter({"success": 3})}


@pytest.mark.anyio
async def test_the_rate_is_of_this_session(clock: Clock) -> None:
    """Trials of earlier sessions count as ended but not into the rate; the time left follows from the rate."""
    scene, watcher = Scene(), Kept()
    for ordinal in range(40):
        scene.ledger.ended(ordinal, Standing.SCORED, 0)
    driver: Any = scene
    side: Any = Halves()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(report_progress, driver, side, watcher, clock)
        await anyio.sleep(INTERVAL_S * 1.5)
        for ordinal in range(40, 60):
            scene.ledger.ended(ordinal, Standing.UNREADABLE, 0)
        await anyio.sleep(INTERVAL_S)
        tasks.cancel_scope.cancel()
    first, second = watcher.heard
    assert (first.planned, first.ended, first.owed, first.in_flight) == (100, 40, 60, 2)
    assert (first.per_s, first.left_s) == (0, None)
    assert first.headlines == {"a": {"labels": 3.0}}
    assert (second.ended, second.owed) == (60, 40)
    assert second.per_s == pytest.approx(20 / (2 * INTERVAL_S))
    assert second.left_s == pytest.approx(40 / second.per_s)
