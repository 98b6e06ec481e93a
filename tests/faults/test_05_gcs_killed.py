"""Row 5: Ray's control store is killed with SIGKILL, and made slow."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.checker import Violation, check
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import REFERENCE, Runs
from tests.faults.hunting import PLANNED, SETS, kill_control
from tests.faults.nursery import Nursery

RUN_S: Final = 200.0
RAY_GAVE_UP: Final = 1
FAULT: Final = "kill -9 of the GCS; every handler of Ray delayed by 20 ms"


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(900)
def test_a_dead_gcs_ends_the_run_with_3(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale, rng: random.Random
) -> None:
    """Within 30 s the run ends with 3 and a whole journal, no process stays, and resume completes it."""
    row = card.row(5, FAULT)
    for _ in range(scale(smoke=0, quick=1, full=10)):
        kill_control(runs, nursery, row, "gcs", rng.randrange(1, 12))


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_a_slow_ray_changes_nothing(runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale) -> None:
    """With every handler of Ray 20 ms late, a run is slower and finds the same."""
    row = card.row(5, FAULT)
    for _ in range(scale(smoke=0, quick=1, full=3)):
        row.trial()
        row.inject()
        run = runs.new(environment={"RAY_testing_asio_delay_us": "*=20000:20001"}).begin(REFERENCE, SETS)
        code = run.end(RUN_S)
        row.violations(check(run.run_dir, undisturbed=nursery.undisturbed, exit_code=code, marker=run.marker))


@pytest.mark.ray
@pytest.mark.faults("full")
@pytest.mark.timeout(900)
def test_a_ray_that_breaks_of_delays_loses_nothing(
    runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale
) -> None:
    """Delays of random length put Ray's own handlers out of order, and it often breaks: what is left can be resumed.

    Its raylet then fails a check of its own, which ends the run with 3; or it fails before its driver is registered,
    and ends that process with 1, where no code of ours can answer.
    """
    row = card.row(5, FAULT)
    broke = 0
    count = scale(smoke=0, quick=1, full=3)
    for _ in range(count):
        row.trial()
        row.inject()
        run = runs.new(environment={"RAY_testing_asio_delay_us": "*=0:20000"}).begin(REFERENCE, SETS)
        code = run.end(RUN_S)
        broke += code != 0
        owed = PLANNED - run.count("scored")
        ended = None if code == RAY_GAVE_UP else code  # what Ray ends has no last line
        row.violations(
            check(run.run_dir, exit_code=ended, expected_exits=(0, 3), owed=owed, marker=run.marker)
            if code in (0, 3, RAY_GAVE_UP)
            else [Violation("I7", f"exit {code} under delays of random length")]
        )
        if code:
            row.violations(check(run.run_dir, undisturbed=nursery.undisturbed, exit_code=nursery.resume(run)))
    row.say(f"Ray itself broke in {broke} of {count} runs with delays of random length")
