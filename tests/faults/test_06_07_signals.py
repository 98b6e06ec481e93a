"""Rows 6 and 7: SIGINT and SIGTERM, once and twice, to quick arms, slow arms and arms that hang."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from tests.checker import Violation, check
from tests.faults.card import CardOfTest, Recorder, Scale
from tests.faults.harness import SLOW, WAITING, Run, Runs, wait_until
from tests.faults.nursery import Nursery

ROWS: Final = {
    signal.SIGINT: (6, "SIGINT once and twice: drain, or end at once"),
    signal.SIGTERM: (7, "SIGTERM once and twice: drain, or end at once"),
}
PLANNED: Final = 36
AT_ONCE_S: Final = 3.0
TIDYING_S: Final = 5.0
"""How long the results and Ray's end may take behind a drain."""
DRAIN_S: Final = 1
HEARD_S: Final = 20.0


def ends_within(run: Run, row: Recorder, limit_s: float, number: signal.Signals) -> int:
    """Wait for a run's end; more than the limit is a violation."""
    began_s = time.monotonic()
    code = run.end()
    if (took_s := time.monotonic() - began_s) > limit_s:
        row.violations([Violation("I7", f"{number.name}: the end came after {took_s:.1f} s, not {limit_s:g} s")])
    return code


def heard(run: Run, number: signal.Signals) -> bool:
    """Whether the run has told that the first signal has come."""
    return wait_until(lambda: number.name in run.output("err").read_text(), HEARD_S)


@pytest.fixture
def hanging(tmp_path: Path) -> tuple[Path, tuple[str, ...]]:
    """A file, and the settings of a run whose arms hang until it is there."""
    until = tmp_path / "until"
    return until, (f'arms.waiting.options.until="{until}"',)


ON_RAY: Final = pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.faults("full")])


@pytest.mark.parametrize("engine", ["inline", ON_RAY])
@pytest.mark.parametrize(
    ("number", "twice"),
    [
        pytest.param(signal.SIGINT, True, id="SIGINT-twice"),
        pytest.param(signal.SIGTERM, False, id="SIGTERM-once"),
        pytest.param(signal.SIGINT, False, id="SIGINT-once", marks=pytest.mark.faults("quick")),
        pytest.param(signal.SIGTERM, True, id="SIGTERM-twice", marks=pytest.mark.faults("quick")),
    ],
)
@pytest.mark.timeout(600)
def test_arms_that_hang_hold_up_no_signal(
    runs: Runs,
    nursery: Nursery,
    card: CardOfTest,
    scale: Scale,
    hanging: tuple[Path, tuple[str, ...]],
    number: signal.Signals,
    twice: bool,
    engine: str,
) -> None:
    """Once: the arms have ``drain_s`` and no more. Twice: three seconds. The code is 128 and the signal's number."""
    row = card.row(*ROWS[number])
    until, sets = hanging
    begun: list[Run] = []
    for _ in range(scale(smoke=1, quick=1, full=5 if engine == "inline" else 1)):
        run = runs.new().begin(WAITING, (*sets, f"run.drain_s={60 if twice else DRAIN_S}", f'engine.kind="{engine}"'))
        assert run.reached("scored", PLANNED // 2), run.output("err").read_text()
        row.trial()
        run.driver.send_signal(number)
        row.inject()
        if twice:
            assert heard(run, number)
            run.driver.send_signal(number)
            row.inject()
        code = ends_within(run, row, AT_ONCE_S if twice else DRAIN_S + TIDYING_S, number)
        row.violations(
            check(run.run_dir, exit_code=code, expected_exits=(128 + number,), owed=PLANNED // 2, marker=run.marker)
        )
        begun.append(run)
    until.touch()
    undisturbed = runs.undisturbed(WAITING, sets)
    for run in begun:
        before = run.acknowledged()
        row.violations(check(run.run_dir, undisturbed=undisturbed, before=before, exit_code=nursery.resume(run)))


@pytest.mark.parametrize("engine", ["inline", ON_RAY])
@pytest.mark.parametrize("number", ROWS, ids=lambda number: number.name)
@pytest.mark.faults("quick")
@pytest.mark.timeout(600)
def test_what_runs_may_end(
    runs: Runs,
    nursery: Nursery,
    card: CardOfTest,
    scale: Scale,
    rng: random.Random,
    number: signal.Signals,
    engine: str,
) -> None:
    """After the first signal no trial is begun, those under way come to their end, and resume runs the others."""
    row = card.row(*ROWS[number])
    sets = ("run.trials=10",)
    undisturbed = runs.undisturbed(SLOW, sets)
    for _ in range(scale(smoke=0, quick=2, full=6 if engine == "inline" else 1)):
        run = runs.new().begin(SLOW, (*sets, f'engine.kind="{engine}"', "engine.in_flight=2"))
        assert run.reached("scored", rng.randrange(1, 60)), run.output("err").read_text()
        row.trial()
        run.driver.send_signal(number)
        row.inject()
        code = ends_within(run, row, TIDYING_S, number)
        owed = 180 - run.count("scored")
        found = check(run.run_dir, exit_code=code, expected_exits=(128 + number,), owed=owed, marker=run.marker)
        if run.count("failed"):
            found.append(Violation("I4", f"{number.name}: a trial under way was not let to its end"))
        row.violations(found)
        before = run.acknowledged()
        row.violations(check(run.run_dir, undisturbed=undisturbed, before=before, exit_code=nursery.resume(run)))
