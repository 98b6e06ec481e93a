"""How long the summary of many rows takes, and how much memory.

    python -m benchmarks.summary [--rows 1000000]

Writes a rows' file of the given length into a temporary directory, then makes its summary in a process of its own, so
that the peak is that of the summary alone: the scan, all rates, cells and pass^k, the paired comparisons of four arms,
and the bootstrap. Prints one line of figures and the machine.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from benchmarks.harness import machine
from oracle.base import Judgement
from orchestrator.kinds.base import Counts, Execution
from orchestrator.kinds.effect.driver import EffectDriver
from orchestrator.kinds.effect.worker import EffectWorker
from orchestrator.plan import Plan
from providers.base import Provider
from spec.contract import Effect, EffectKind, contract_hash
from spec.outcome import classify
from spec.reading import RecordSchema, TrueState
from spec.task import Category, OracleSpec, Task
from spec.trial import Trial

ARMS: Final = ("screen_only", "effect_verified", "always_halt", "retry_on_error")
TASKS: Final = 20
EFFECT: Final = Effect(EffectKind.RECORD_WRITTEN, {"patient_id": "p1", "type": "Triage"})
STATES: Final = (TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT)
MESSAGE: Final = "The encounter was saved and the banner confirmed it. " * 5


class _Schema(NamedTuple):
    schema: RecordSchema


def _task(number: int) -> Task:
    category = list(Category)[number % len(Category)]
    return Task(f"pack::task{number:02}", "", "", category, (EFFECT,), OracleSpec("snapshot"), number % 3 == 0)


def driver() -> EffectDriver:
    """The kind's driver side over twenty made-up tasks."""
    return EffectDriver(cast(Provider, _Schema(RecordSchema("encounters"))), [_task(n) for n in range(TASKS)])


def rows(side: EffectDriver, plan: Plan) -> Iterator[bytes]:
    """The rows' file, a line at a time; endings vary by task, arm and trial."""
    worker, digest = EffectWorker(), contract_hash(EFFECT)
    for ordinal in range(len(plan)):
        cell = plan.cell(ordinal)
        task = _task(cell.task)
        state, reported = STATES[(cell.task + cell.trial * cell.arm) % 3], (cell.task + cell.arm + cell.trial) % 4 != 0
        label = classify(reported_success=reported, state=state, correct_action_available=task.correct_action_available)
        assert label is not None
        body = {
            "state": state.value,
            "verdict": "confirmed" if state is TrueState.CORRECT else "refuted",
            "kind": "record_written",
            "channel": "snapshot",
            "observed_count": 1,
            "expected_count": 1,
            "before_reachable": True,
            "expected_effect_hash": digest,
            "outcome": label.outcome.value,
            "variant": label.variant.value,
        }
        trial = Trial(ordinal, plan.key(ordinal), task.task_id, plan.arms[cell.arm], cell.trial, cell.trial, {}, 1)
        report = worker.parse({"reported_success": reported, "message": MESSAGE})
        execution = Execution(
            1, "in-process", None, "", "2026-01-31T12:00:00.000000Z", "2026-01-31T12:00:00.250000Z", 0.25, 1
        )
        judgement = Judgement(True, state is TrueState.CORRECT, "one record matches, note is empty", body)
        yield orjson.dumps(side.row(trial, report, judgement, execution), option=orjson.OPT_APPEND_NEWLINE)


def plan_of(count: int) -> Plan:
    """A plan of about ``count`` trials."""
    return Plan([_task(number).task_id for number in range(TASKS)], ARMS, max(1, count // (TASKS * len(ARMS))))


def write(path: Path, count: int) -> None:
    """Write the rows' file."""
    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(rows(driver(), plan_of(count)))


def measure(path: Path, count: int) -> None:
    """Make the summary and print what it took."""
    side, plan = driver(), plan_of(count)
    planned = len(plan.task_ids) * plan.trials
    counts = {arm: Counts(planned, planned, 0, 0, 0, 0, 0) for arm in plan.arms}
    start = time.perf_counter()
    arms, comparisons = side.summarise(path, counts, 0)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform == "darwin" else 1024)
    megabytes = path.stat().st_size / 1e6
    print(
        f"{len(plan):,} rows ({megabytes:,.0f} MB), {len(arms)} arms, {len(comparisons)} comparisons: "
        f"{seconds:.2f} s, peak {peak:,} MiB"
    )
    print(f"machine: {machine()}")


def main() -> None:
    """Write the file, then measure in a fresh process."""
    parser = argparse.ArgumentParser(description="Time and memory of the summary of many rows.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        measure(given.measure, given.rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        write(path, given.rows)
        command = [sys.executable, "-m", "benchmarks.summary", "--rows", str(given.rows), "--measure", str(path)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
