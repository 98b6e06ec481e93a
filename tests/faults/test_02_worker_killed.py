"""Row 2: workers are killed with SIGKILL while they run trials; the driver goes on by itself."""

from __future__ import annotations

import random

import pytest

from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import Runs
from tests.faults.hunting import Hunt, at_once
from tests.faults.nursery import Nursery


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(1200)
def test_killed_workers_cost_attempts_only(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """What a killed worker held is repeated on a fresh one; no verdict comes of it, and the others go on."""
    row = card.row(2, "kill -9 of a worker in the middle of its trials")
    hunt = Hunt(runs, nursery, row, "workers", trials=scale(smoke=20, quick=30, full=112))
    hunt.kill(scale(smoke=1, quick=5, full=100), rng, at_once)
