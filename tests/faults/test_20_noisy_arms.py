"""Row 20: whatever an arm writes to the standard streams or does to them, the answer is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.harness import Run, Runs
from tests.faults.test_18_greedy_arms import end_watched

ROW: Final = (20, "garbage on standard output and error")
CONFIG: Final = Path(__file__).parent / "thirdparty" / "noisy.toml"
ARMS: Final = ("floods", "binary", "forges", "closes", "replaces", "neighbour")
RESIDENT_MIB_MAX: Final = 400


def noise(run: Run, mib: int, *words: str) -> list[str]:
    """Run all these arms; what was wrong with it."""
    sets = [f"arms.{name}.options={{mib={mib}}}" for name in ARMS[:-1]]
    run.begin(CONFIG, sets, "--task", "*::ok", *words)
    code, most = end_watched(run)
    found = [str(one) for one in check(run.run_dir, exit_code=code, marker=run.marker)]
    lines = run.output("out").read_bytes().splitlines()
    if len(lines) != 1 or run.answer()["run_dir"] != str(run.run_dir):
        found.append(f"I7: standard output has {len(lines)} lines, {lines[:2]!r:.200}")
    elif run.answer()["conservation"]["scored"] != len(ARMS):
        found.append(f"I4: {run.answer()['conservation']}")
    if most > RESIDENT_MIB_MAX:
        found.append(f"the program has held {most:.0f} MiB, at most {RESIDENT_MIB_MAX} are allowed")
    return found


@pytest.mark.timeout(300)
def test_noise_of_every_kind(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """Floods without a line break, no UTF-8, a forged answer, closed and replaced streams: one true line of answer."""
    row, mib = card.row(*ROW), scale(smoke=1, quick=20, full=100)
    row.trial(len(ARMS))
    row.inject(len(ARMS) - 1)
    row.violations(noise(runs.new(), mib))


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(600)
def test_noise_of_worker_processes(card: CardOfTest, scale: Scale, runs: Runs) -> None:
    """The same under Ray, whose workers' output must not reach the answer either."""
    row, mib = card.row(*ROW), scale(smoke=1, quick=5, full=50)
    row.trial(len(ARMS))
    row.inject(len(ARMS) - 1)
    row.violations(noise(runs.new(), mib, "--set", 'engine.kind="ray"', "--set", "engine.workers=1"))
