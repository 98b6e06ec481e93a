"""Row 3: oracles are killed with SIGKILL, idle and with reads unanswered."""

from __future__ import annotations

import random

import pytest

from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import Runs
from tests.faults.hunting import Hunt, at_once, at_work
from tests.faults.nursery import Nursery


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(1200)
def test_killed_oracles_cost_attempts_only(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """What a killed oracle was asked is asked again of a fresh one; no verdict without both readings."""
    row = card.row(3, "kill -9 of the oracle, idle and with reads unanswered")
    hunt = Hunt(runs, nursery, row, "oracles", trials=scale(smoke=12, quick=30, full=112))
    hunt.kill(scale(smoke=1, quick=3, full=50), rng, at_once, at_work)
