"""Row 16: an arm that does not come back is ended at its deadline; its record is read, and its neighbours go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.checker import check
from tests.faults.card import CardOfTest, Recorder, Scale
from tests.faults.harness import Run, Runs

ROW: Final = (16, "slow arm, hung arm")
CONFIG: Final = Path(__file__).parent / "thirdparty" / "hanging.toml"
DEADLINE_S: Final = 0.4
OVER_S: Final = 1.0
"""How much later than its deadline an arm may be ended."""

NEIGHBOUR: Final = "neighbour"
DISCARDED: Final = 3600
"""Seconds for which a thread of the arms would go on; no end of the program may wait for it."""


def rows_of(run: Run) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run.run_dir / "episodes.jsonl").read_bytes().splitlines()]


def row_problems(row: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """What is wrong with a row, where ``expected`` is the one of an arm that does the same and comes back."""
    fault = row["env_fingerprint"]["arm_fault"]
    read = ("verdict", "observed_count", "effect_correct", "effect_wrong_persisted", "effect_absent")
    found = [f"I4: {one} is {row['oracle'][one]}" for one in read if row["oracle"][one] != expected["oracle"][one]]
    if row["arm"] == NEIGHBOUR:
        return found + ([f"I4: a neighbour ended with {fault}"] if fault else [])
    if fault != "timeout" or row["agent"] != row["agent"] | {"reported_success": False, "halted": True}:
        found.append(f"I4: it ended with {fault} and {row['agent']}")
    if not DEADLINE_S <= row["latency_s"] <= DEADLINE_S + OVER_S:
        found.append(f"I4: it was ended after {row['latency_s']:.2f} s, its deadline was {DEADLINE_S:g} s")
    return found


@pytest.mark.timeout(300)
def test_arms_that_hang_in_every_way(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """Tasks that wait, threads that sleep, read, compute and listen to no signal: each a timeout, none holds anything.

    The oracle reads what each had written before it hung, and the program ends though the threads never do.
    """
    narrow = ["--task", "*::ok", "--task", "*::partial"][: scale(smoke=2, quick=4, full=4)]
    for _ in range(scale(smoke=1, quick=4, full=20)):  # one after the other: threads that compute are never got rid of
        hang_in_every_way(card.row(*ROW), runs, narrow)


def hang_in_every_way(row: Recorder, runs: Runs, narrow: Sequence[str]) -> None:
    """One run, and what is wrong with its rows."""
    run = runs.new().begin(CONFIG, ["run.trials=1", f"engine.deadline_s={DEADLINE_S}"], *narrow)
    code = run.end()
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    rows = rows_of(run)
    normal = {one["task_id"]: one for one in rows if one["arm"] == NEIGHBOUR}
    for one in rows:
        row.trial()
        row.inject(one["arm"] != NEIGHBOUR)
        found += [f"{one['episode_id']}: {problem}" for problem in row_problems(one, normal[one["task_id"]])]
    row.violations(found)


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_arms_that_hang_in_worker_processes(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """The same under Ray: the workers' threads go down with the workers when the run is over."""
    row, trials = card.row(*ROW), scale(smoke=1, quick=2, full=10)
    sets = [f"run.trials={trials}", f"engine.deadline_s={DEADLINE_S}", 'engine.kind="ray"', "engine.workers=2"]
    run = runs.new().begin(CONFIG, sets, "--task", "*::ok")
    code = run.end()
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    rows = rows_of(run)
    normal = {one["task_id"]: one for one in rows if one["arm"] == NEIGHBOUR}
    for one in rows:
        row.trial()
        row.inject(one["arm"] != NEIGHBOUR)
        found += [f"{one['episode_id']}: {problem}" for problem in row_problems(one, normal[one["task_id"]])]
    row.violations(found)
