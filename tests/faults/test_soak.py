"""The soak: for minutes a random nemesis breaks a run of two thousand trials, and the checker decides."""

from __future__ import annotations

import random
import time

import pytest

from tests.faults.card import SOAK, CardOfTest, Scale
from tests.faults.harness import SLOW, Runs
from tests.faults.nemesis import Nemesis
from tests.faults.nursery import Nursery


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(1500)
def test_a_run_outlives_its_nemesis(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Whatever is drawn, in whatever order: the run comes to the results of an undisturbed one."""
    row = card.row(
        SOAK, "ten minutes of a random nemesis: kills, signals, torn and full files, rivals, stopped processes"
    )
    trials = scale(smoke=10, quick=28, full=112)
    sets = (f"run.trials={trials}",)
    undisturbed = runs.undisturbed(SLOW, sets)
    until_s = time.monotonic() + scale(smoke=10, quick=60, full=600)
    while time.monotonic() < until_s:
        row.trial()
        nemesis = Nemesis(runs, nursery, row, undisturbed=undisturbed, planned=18 * trials, sets=sets, rng=rng)
        nemesis.play(until_s)
