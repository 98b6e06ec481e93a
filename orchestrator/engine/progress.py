"""Tells a watcher now and then how far a run is."""

from __future__ import annotations

from typing import Final

from orchestrator.engine.driver import Driver
from orchestrator.kinds.base import DriverSide
from orchestrator.watcher import Progress, Watcher
from spec.clock import Clock

INTERVAL_S: Final = 0.5


async def report_progress(driver: Driver, side: DriverSide, watcher: Watcher, clock: Clock) -> None:
    """Report until cancelled."""
    began, owed_at_first = clock.monotonic(), driver.ledger.owed()
    while True:
        await clock.sleep(INTERVAL_S)
        line = driver.ledger.conservation()
        per_s = (owed_at_first - line["owed"]) / max(clock.monotonic() - began, 1e-9)
        watcher.progress(
            Progress(
                planned=line["planned"],
                ended=line["planned"] - line["owed"],
                owed=line["owed"],
                in_flight=len(driver.trials.active),
                headlines={arm: side.headline(labels) for arm, labels in driver.labels.items()},
                per_s=per_s,
                left_s=line["owed"] / per_s if per_s else None,
            )
        )
