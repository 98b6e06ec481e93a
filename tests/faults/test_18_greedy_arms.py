"""Row 18: an arm that takes more than there is fails by itself; the orchestrator and the neighbours do not notice.

What is bounded here are the limits of the whole process, set by the test: level ``in-process`` has none of its own.
"""

from __future__ import annotations

import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import LOOK_S, Run, Runs, wait_until

ROW: Final = (18, "arm eats memory, disk, descriptors; forks")
CONFIG: Final = Path(__file__).parent / "thirdparty" / "greedy.toml"
MIB: Final = 1 << 20
LIMITS: Final[Mapping[int, int]] = {
    resource.RLIMIT_AS: 4096 * MIB,
    resource.RLIMIT_FSIZE: 64 * MIB,
    resource.RLIMIT_NOFILE: 256,
}
RESIDENT_MIB_MAX: Final = 500
"""What the program may take, bounded so that nothing of what an arm asked for stays."""

FAULTS: Final[Mapping[str, str | None]] = {
    "memory": "raised",
    "disk": "raised",
    "descriptors": "raised",
    "copies": None,
    "neighbour": None,
}


def rows_of(run: Run) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run.run_dir / "episodes.jsonl").read_bytes().splitlines()]


def resident_mib(run: Run) -> float:
    """The most that the driver has held until now; 0 where it is gone."""
    try:
        text = Path(f"/proc/{run.driver.pid}/status").read_text()
    except OSError:
        return 0.0
    lines = [line for line in text.splitlines() if line.startswith("VmHWM:")]
    return int(lines[0].split()[1]) / 1024 if lines else 0.0


def end_watched(run: Run) -> tuple[int, float]:
    """Wait for the end of a run; its exit code and the most that it has held, MiB."""
    most = 0.0

    def ended() -> bool:
        nonlocal most
        most = max(most, resident_mib(run))
        return run.driver.poll() is not None

    assert wait_until(ended, 120, LOOK_S)
    return run.driver.returncode, most


@pytest.mark.timeout(300)
def test_arms_that_take_too_much(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """Four gibibytes, a gibibyte of file, every descriptor, copies of the process: faults of their own, and no more."""
    row, trials = card.row(*ROW), scale(smoke=1, quick=5, full=20)
    run = runs.new().begin(CONFIG, [f"run.trials={trials}"], "--task", "*::ok")
    for kind, limit in LIMITS.items():
        resource.prlimit(run.driver.pid, kind, (limit, limit))
    code, most = end_watched(run)
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    rows = rows_of(run)
    for one in rows:
        row.trial()
        row.inject(one["arm"] != "neighbour")
        fault = one["env_fingerprint"]["arm_fault"]
        if fault != FAULTS[one["arm"]] or not one["oracle"]["effect_correct"]:
            detail = one["env_fingerprint"]["fault_detail"]
            found.append(f"I4: {one['episode_id']} ended with {fault} ({detail}), {one['oracle']['reason']}")
    if len(rows) != len(FAULTS) * trials:
        found.append(f"I4: {len(rows)} rows of {len(FAULTS) * trials}")
    if most > RESIDENT_MIB_MAX:
        found.append(f"the program has held {most:.0f} MiB, at most {RESIDENT_MIB_MAX} are allowed")
    row.violations(found)
