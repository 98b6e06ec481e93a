"""Row 4: Ray's raylet is killed with SIGKILL; the driver may not wait for what will never come."""

from __future__ import annotations

import random

import pytest

from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import Runs
from tests.faults.hunting import kill_control
from tests.faults.nursery import Nursery


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(900)
def test_a_dead_raylet_ends_the_run_with_3(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Within 30 s the run ends with 3 and a whole journal, no process stays, and resume completes it."""
    row = card.row(4, "kill -9 of the raylet")
    for _ in range(scale(smoke=0, quick=1, full=10)):
        kill_control(runs, nursery, row, "raylet", rng.randrange(1, 12))
