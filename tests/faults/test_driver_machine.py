"""The driver alone, with fake workers, oracle, clock and disk, under hypothesis: faults in any order."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.card import MACHINE, CardOfTest, Scale
from tests.orchestrator.engine.test_driver_machine import DriverMachine

STEPS = 50


@pytest.mark.faults("quick")
@pytest.mark.timeout(900)
def test_no_order_of_faults_loses_or_doubles_a_trial(card: CardOfTest, scale: Scale, rng: random.Random) -> None:
    """After each step and at each end the invariants of the driver hold; what breaks them is shrunk and shown."""
    row = card.row(MACHINE, "the driver alone under a state machine: losses, silences, crashes, full disks, drains")
    runs, befallen = DriverMachine.runs, DriverMachine.befallen
    examples = scale(smoke=5, quick=150, full=1000)
    bounds = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(seed(rng.getrandbits(32))(DriverMachine), settings=bounds)
    except AssertionError as error:
        row.violations([error])
        raise
    finally:
        row.trial(DriverMachine.runs - runs)
        row.inject(DriverMachine.befallen - befallen)
