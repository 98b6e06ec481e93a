"""Row 25: 100,000 rows come to what a plain loop makes of them, in any order, within two seconds and 200 MiB."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.kinds.base import Counts
from orchestrator.kinds.effect.driver import EffectDriver
from orchestrator.metrics.wilson import wilson
from providers.mockmed import MockMed
from spec.outcome import classify
from spec.reading import TrueState
from spec.task import Task
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import ROOT
from tests.faults.in_process import finish, small_config
from tests.orchestrator.metrics.test_wilson import TOLERANCE, high_precision

ROW: Final = (25, "100,000 rows, in any order")
ARMS: Final = ("screen_only", "effect_verified")
TASKS: Final = 9
STATES: Final = (TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT)
SECONDS_MAX: Final = 2.0
MIB_MAX: Final = 200
TRIALS_MAX: Final = 10**6

Row = dict[str, Any]


def retold(row: Row, task: Task, reported: bool, state: TrueState) -> Row:
    """A real row as it would be had the arm said and the record held something else."""
    available = task.correct_action_available
    label = classify(reported_success=reported, state=state, correct_action_available=available)
    assert label is not None
    right = state is TrueState.CORRECT
    seen = {
        "verdict": "confirmed" if right else "refuted",
        "effect_correct": right,
        "effect_wrong_persisted": state is TrueState.WRONG_PERSISTED,
        "effect_absent": state is TrueState.ABSENT,
    }
    return row | {
        "agent": row["agent"] | {"reported_success": reported, "halted": not reported},
        "oracle": row["oracle"] | seen,
        "outcome": label.outcome.value,
        "swer_variant": label.variant.value,
    }


def many_rows(rows: Sequence[Row], trials: int, rng: random.Random) -> Iterator[bytes]:
    """As many trials of each task and arm as are asked for, with any report, state, cost and latency."""
    tasks = {task.task_id: task for task in MockMed().tasks()}
    kinds = [
        [retold(row, tasks[row["task_id"]], reported, state) for reported in (True, False) for state in STATES]
        for row in rows
    ]
    for trial in range(trials):
        for of_cell in kinds:
            row = rng.choice(of_cell)
            name = f"{row['arm']}::{row['task_id']}::t{trial}"
            cost, latency = rng.randrange(10**6) / 10**6, rng.randrange(10**9) / 10**6
            yield orjson.dumps(
                row | {"episode_id": name, "trial": trial, "seed": trial, "cost_usd": cost, "latency_s": latency}
            )


@pytest.fixture(scope="module")
def real_rows(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Row]:
    """The rows of a real run, one trial of each task and arm."""
    folder = tmp_path_factory.mktemp("real")
    run_dir = finish(small_config(folder, arms=[(name, name) for name in ARMS]), folder / "run")
    return [orjson.loads(line) for line in (run_dir / "episodes.jsonl").read_bytes().splitlines()]


def counts_of(trials: int) -> dict[str, Counts]:
    planned = TASKS * trials
    return dict.fromkeys(ARMS, Counts(planned, planned, 0, 0, 0, 0, 0))


def summary_of(episodes: Path, trials: int) -> dict[str, Any]:
    provider = MockMed()
    arms, comparisons = EffectDriver(provider, provider.tasks()).summarise(episodes, counts_of(trials), 0)
    return {"arms": arms, "comparisons": comparisons}


# The reference implementation, over single rows, as plain as can be.

WRONG: Final = "silent_wrong_effect"
FIELDS: Final = (
    "arm",
    "task_id",
    "trial",
    "category",
    "substrate",
    "outcome",
    "reported_success",
    "effect_correct",
    "effect_wrong_persisted",
    "effect_absent",
    "cost_usd",
    "latency_s",
)


def rates_of(rows: Sequence[Row]) -> dict[str, int]:
    reported = [row for row in rows if row["reported_success"]]
    return {
        "swer": sum(row["outcome"] == WRONG for row in rows),
        "swer_wrong_write": sum(row["effect_wrong_persisted"] for row in reported),
        "swer_phantom": sum(row["effect_absent"] for row in reported),
        "over_halt": sum(row["outcome"] == "over_halt" for row in rows),
        "task_success": sum(row["effect_correct"] for row in reported),
        "screen_success": len(reported),
    }


def slim(row: Row) -> Row:
    flat = row | row["agent"] | row["oracle"]
    return {name: flat[name] for name in FIELDS}


def reference(lines: Sequence[bytes]) -> dict[str, Any]:
    rows = [slim(json.loads(line)) for line in lines]
    arms: dict[str, Any] = {}
    for arm in ARMS:
        own = [row for row in rows if row["arm"] == arm]
        of_task, of_cell = defaultdict(list), defaultdict(list)
        for row in own:
            of_task[row["task_id"]].append(row["outcome"] == "success")
            of_cell[row["category"], row["substrate"]].append(row)
        hat = {k: [math.comb(sum(won), k) / math.comb(len(won), k) for won in of_task.values()] for k in (1, 2, 4, 8)}
        arms[arm] = {
            "n": len(own),
            "rates": rates_of(own),
            "outcomes": Counter(row["outcome"] for row in own),
            "cost": math.fsum(row["cost_usd"] for row in own),
            "latency": math.fsum(row["latency_s"] for row in own) / len(own),
            "pass": {str(k): math.fsum(values) / len(values) for k, values in hat.items()},
            "cells": {cell: (len(held), rates_of(held)) for cell, held in of_cell.items()},
        }
    wrong = {(row["arm"], row["task_id"], row["trial"]): row["outcome"] == WRONG for row in rows}
    pairs = [(wrong[ARMS[0], task, trial], wrong[ARMS[1], task, trial]) for arm, task, trial in wrong if arm == ARMS[0]]
    return {"arms": arms, "difference": sum(a - b for a, b in pairs) / len(pairs)}


def close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def rate_problems(where: str, found: Mapping[str, Any], expected: Mapping[str, int], rows: int) -> Iterator[str]:
    for name, numerator in expected.items():
        rate, (low, high) = found[name], high_precision(numerator, rows)
        if (rate["numerator"], rate["denominator"]) != (numerator, rows) or not close(rate["rate"], numerator / rows):
            yield f"{where} {name}: {rate['numerator']} of {rate['denominator']}, not {numerator} of {rows}"
        if abs(rate["ci"]["lo"] - low) > TOLERANCE or abs(rate["ci"]["hi"] - high) > TOLERANCE:
            yield f"{where} {name}: the interval is {rate['ci']}, not {low} to {high}"


def summary_problems(summary: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Where a summary and the reference differ."""
    for arm, plain in expected["arms"].items():
        found = summary["arms"][arm]
        yield from rate_problems(arm, found, plain["rates"], plain["n"])
        for (category, substrate), (rows, rates) in plain["cells"].items():
            place = (category, substrate)
            cell = next(one for one in found["cells"] if (one["category"], one["substrate"]) == place)
            yield from rate_problems(f"{arm} {category}", cell, rates, rows)
        if {name: count for name, count in found["outcome_counts"].items() if count} != plain["outcomes"]:
            yield f"{arm}: outcomes {found['outcome_counts']}"
        figures = {
            "gap": (found["success_effect_gap"], (plain["rates"]["screen_success"] - plain["rates"]["task_success"])),
            "cost": (found["total_cost_usd"], plain["cost"]),
            "latency": (found["mean_latency_s"], plain["latency"]),
            **{f"pass^{k}": (found["pass_hat_k"][k], value) for k, value in plain["pass"].items()},
        }
        figures["gap"] = (figures["gap"][0] * plain["n"], figures["gap"][1])
        yield from (
            f"{arm}: {name} {one}, not {other}" for name, (one, other) in figures.items() if not close(one, other)
        )
    (comparison,) = summary["comparisons"]
    if not close(comparison["swer"][0] - comparison["swer"][1], expected["difference"]):
        yield f"the arms differ by {comparison['swer']}, not {expected['difference']}"


MEASURE: Final = """
import re, sys, time
from pathlib import Path
from tests.faults.test_25_many_rows import summary_of
began, busy = time.monotonic(), time.process_time()
summary_of(Path(sys.argv[1]), int(sys.argv[2]))
seconds, busy = time.monotonic() - began, time.process_time() - busy
print(seconds, busy, int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def measure(episodes: Path, trials: int) -> tuple[float, float, float]:
    """Seconds, seconds of the processor and MiB of one aggregation, in a process of its own."""
    command = [sys.executable, "-c", MEASURE, str(episodes), str(trials)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, busy, mib = map(float, done.stdout.split())
    return seconds, busy, mib


@pytest.mark.timeout(300)
def test_many_rows_are_added_up(
    card: CardOfTest, scale: Scale, rng: random.Random, real_rows: Sequence[Row], tmp_path: Path
) -> None:
    """Rates, intervals, cells, costs, pass^k and the comparison are the reference's; order changes no byte."""
    row, trials = card.row(*ROW), scale(smoke=60, quick=5556, full=5556)
    lines = list(many_rows(real_rows, trials, rng))
    episodes = tmp_path / "episodes.jsonl"
    episodes.write_bytes(b"\n".join([*lines, b""]))
    summary = summary_of(episodes, trials)
    row.trial()
    row.violations(f"I5: {problem}" for problem in summary_problems(summary, reference(lines)))
    written = orjson.dumps(summary)
    for _ in range(scale(smoke=2, quick=3, full=10)):
        rng.shuffle(lines)
        episodes.write_bytes(b"\n".join([*lines, b""]))
        row.trial()
        row.inject()
        if orjson.dumps(summary_of(episodes, trials)) != written:
            row.violations(["I5: another order of the rows gives another summary"])


@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_it_is_quick_and_small(
    card: CardOfTest, scale: Scale, rng: random.Random, real_rows: Sequence[Row], tmp_path: Path
) -> None:
    """The best of three aggregations of 100,008 rows takes under two seconds, and all of them under 200 MiB.

    On a machine that does something else, the processor's seconds count where they are fewer.
    """
    row, trials = card.row(*ROW), 5556
    episodes = tmp_path / "episodes.jsonl"
    episodes.write_bytes(b"\n".join([*many_rows(real_rows, trials, rng), b""]))
    measured = [measure(episodes, trials) for _ in range(scale(smoke=1, quick=3, full=3))]
    seconds, busy, mib = (
        min(one[0] for one in measured),
        min(one[1] for one in measured),
        max(one[2] for one in measured),
    )
    row.trial(len(measured))
    told = f"{seconds:.2f} s ({busy:.2f} s of processor), {mib:.0f} MiB for {2 * TASKS * trials:,} rows"
    row.say(told)
    if min(seconds, busy) > SECONDS_MAX or mib > MIB_MAX:
        row.violations([f"{told}; at most {SECONDS_MAX:g} s and {MIB_MAX} MiB are allowed"])


def test_intervals_are_right_for_every_size(card: CardOfTest, scale: Scale, rng: random.Random) -> None:
    """From one trial to a million the ends are right to 1e-12, within 0 and 1, and hold the rate between them."""
    row = card.row(*ROW)
    small = [(k, n) for n in range(1, scale(smoke=12, quick=40, full=150)) for k in range(n + 1)]
    drawn = [rng.randint(1, TRIALS_MAX) for _ in range(scale(smoke=200, quick=2000, full=20_000))]
    large = [(k, n) for n in drawn for k in {0, 1, n // 2, rng.randint(0, n), n - 1, n}]
    for k, n in [*small, *large]:
        low, high = wilson(k, n)
        exact = high_precision(k, n)
        if not 0 <= low <= k / n <= high <= 1 or max(abs(low - exact[0]), abs(high - exact[1])) > TOLERANCE:
            row.violations([f"{k} of {n}: {low} to {high}, not {exact}"])
    row.trial(len(small) + len(large))
