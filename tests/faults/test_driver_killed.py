"""Row 1: the driver is killed with SIGKILL, at many points, through the program itself and through forks of it."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import REFERENCE, Runs

ROW: Final = (1, "kill -9 of the driver, then resume")
SETS: Final = ("run.trials=2",)
PLANNED: Final = 36
SLOWLY: Final = (*SETS, "engine.in_flight=2", "engine.lease_max=1", "limits.group_commit_ms=40")
"""Nothing that results depend on, but rows come one by one, so that a kill meets a run in its middle."""


@pytest.mark.timeout(1800)
def test_the_program_is_killed_and_resumed(runs: Runs, card: CardOfTest, scale: Scale, rng: random.Random) -> None:
    """Killed after a random row, the program resumes to undisturbed results, and nothing acknowledged is gone."""
    row = card.row(*ROW)
    undisturbed = runs.undisturbed(REFERENCE, SETS)
    for _ in range(scale(smoke=1, quick=5, full=25)):
        run = runs.new().begin(REFERENCE, SLOWLY, "--inline")
        assert run.reached("scored", rng.randrange(1, PLANNED)), run.output("err").read_text()
        before = run.kill()
        row.trial()
        row.inject()
        code = run.resume().end()
        row.violations(check(run.run_dir, undisturbed=undisturbed, before=before, exit_code=code, marker=run.marker))
