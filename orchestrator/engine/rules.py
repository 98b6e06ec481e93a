"""What the driver goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True)
class Rules:
    """Bounds of a run; those that a live control may change are read anew whenever they are needed.

    Attributes:
        attempts: executions of a trial before it is counted unreadable or infrastructure.
        drain_s: seconds that running arms get after the first signal.
        group_commit_s: seconds that a line may wait for others before it is synced.
        stall_report_s: seconds without any event after which the driver says what it waits for; 0: never.
        heartbeat_s: seconds between two signs of life that are asked of a peer.
        losses_max: workers and oracles that may be lost with no row in between before the run gives up, and attempts
            that may fail in a worker in a row before it is replaced.
        open_s, baseline_s: seconds for a fixture to open and for the reading before the arm.
        deadlines_s: arm -> seconds that it may take.
        read_s: seconds that the reading after the arm can take, repetitions, polling and settling included.
        isolation: arm -> its isolation level.
    """

    attempts: int
    drain_s: float
    group_commit_s: float
    stall_report_s: float
    heartbeat_s: float
    losses_max: int
    open_s: float
    baseline_s: float
    deadlines_s: Mapping[str, float]
    read_s: float
    isolation: Mapping[str, str]
