"""Row 17: however an arm ends, its trial has the outcome of an arm at fault, and the run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import Run, Runs

ROW: Final = (17, "arm raises, exits, interrupts, dies, cannot be pickled")
HERE: Final = Path(__file__).parent / "thirdparty"
FAULTS: Final[Mapping[str, str | None]] = {
    "raises": "raised",
    "exits_0": "exited",
    "exits_3": "exited",
    "interrupts": "exited",
    "wicked": "exited",
    "clings": "raised",
    "returns_code": "malformed",
    "returns_a_trap": "malformed",
    "raises_in_thread": "raised",
    "exits_in_thread": "exited",
    "interrupts_in_thread": "exited",
    "neighbour": None,
}
READ: Final = ("verdict", "observed_count", "effect_correct", "effect_wrong_persisted", "effect_absent")


def rows_of(run: Run) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run.run_dir / "episodes.jsonl").read_bytes().splitlines()]


def problems(run: Run, code: int, trials: int) -> list[str]:
    """What a run of all these arms must not show."""
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    rows = rows_of(run)
    normal = {(row["task_id"], row["trial"]): row["oracle"] for row in rows if row["arm"] == "neighbour"}
    if len(rows) != len(FAULTS) * trials:
        found.append(f"I4: {len(rows)} rows of {len(FAULTS) * trials}: {run.answer()['conservation']}")
    for row in rows:
        where, fault = row["episode_id"], row["env_fingerprint"]["arm_fault"]
        if fault != FAULTS[row["arm"]]:
            found.append(f"I4: {where} ended with {fault}: {row['env_fingerprint']['fault_detail']}")
        if row["agent"]["reported_success"] and fault is not None:
            found.append(f"I4: {where} has reported success")
        undisturbed = normal[row["task_id"], row["trial"]]
        found += [
            f"I4: {where}: {one} is {row['oracle'][one]}" for one in READ if row["oracle"][one] != undisturbed[one]
        ]
    return found


@pytest.mark.timeout(300)
def test_every_way_to_end(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """Eleven ways, in tasks and in threads: each its own fault, the record read, the neighbours untouched."""
    row, trials = card.row(*ROW), scale(smoke=1, quick=10, full=50)
    run = runs.new().begin(HERE / "dying.toml", [f"run.trials={trials}"], "--task", "*::ok")
    row.trial(len(FAULTS) * trials)
    row.inject((len(FAULTS) - 1) * trials)
    row.violations(problems(run, run.end(), trials))


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_every_way_to_end_in_worker_processes(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """The same where reports and errors cross the border of a process: nothing of an arm is unpickled by the driver."""
    row, trials = card.row(*ROW), scale(smoke=1, quick=4, full=20)
    sets = [f"run.trials={trials}", 'engine.kind="ray"', "engine.workers=2"]
    run = runs.new().begin(HERE / "dying.toml", sets, "--task", "*::ok")
    row.trial(len(FAULTS) * trials)
    row.inject((len(FAULTS) - 1) * trials)
    row.violations(problems(run, run.end(), trials))


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("arm", ["vanishes", "segfaults"])
def test_an_arm_that_takes_its_worker_along(card: CardOfTest, runs: Runs, arm: str) -> None:
    """``os._exit`` and a segmentation fault kill the worker: that trial has no verdict, every other one is scored."""
    row = card.row(*ROW)
    sets = ["run.trials=3", 'engine.kind="ray"', "engine.workers=2", "limits.worker_failures_max=20"]
    run = runs.new().begin(HERE / "deadly.toml", sets, "--task", "*::ok", "--arm", arm, "--arm", "neighbour")
    code = run.end(300)
    row.trial(6)
    row.inject(3)
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    scored = [one["arm"] for one in rows_of(run)]
    if scored != ["neighbour"] * 3:
        found.append(f"I4: scored are {scored}: {run.answer()['conservation']}")
    ends = run.count("unreadable") + run.count("infrastructure")
    if ends != 3 or run.count("cancelled"):
        found.append(f"I4: {ends} trials ended without a verdict: {run.answer()['conservation']}")
    row.violations(f"{arm}: {one}" for one in found)
