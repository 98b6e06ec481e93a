"""Row 21: what an arm is given leads to no ground truth; what is open at this level is said, and the level is printed.

Level ``in-process`` promises no more than that a walk over attributes, six steps from what an arm gets, meets neither
store nor oracle. What a determined arm reaches beside it is tried here and listed, so that nobody takes it for closed.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.checker import check
from tests.faults.card import CardOfTest
from tests.faults.harness import ROOT, Run, Runs

ROW: Final = (21, "arm reaches for the oracle")
CONFIG: Final = Path(__file__).parent / "thirdparty" / "secret_desk.toml"
TRIALS: Final = 9
"""Of one arm: three tasks, three trials."""

THINGS_MIN: Final = 50
"""A walk that sees fewer has not walked."""


def secret_run(runs: Runs, tmp_path: Path, rng: random.Random, *words: str) -> tuple[Run, str]:
    """A finished run on a desk with a secret, and the secret."""
    canary, file = f"canary-{rng.getrandbits(128):032x}", tmp_path / "canary"
    file.write_text(canary)
    run = runs.new(environment={"CANARY_FILE": str(file), "PYTHONPATH": str(ROOT)})
    run.begin(CONFIG, (), *words)
    return run, canary


def problems(run: Run, canary: str) -> tuple[list[str], set[str]]:
    """What is wrong with the run, and what its probes found open."""
    code = run.end()
    found = [str(one) for one in check(run.run_dir, exit_code=code, canary=canary, marker=run.marker)]
    for stream in ("out", "err"):
        if canary.encode() in run.output(stream).read_bytes():
            found.append(f"I8: the canary stands in what was printed ({stream})")
    opened: set[str] = set()
    rows: list[dict[str, Any]] = [
        orjson.loads(line) for line in (run.run_dir / "episodes.jsonl").read_bytes().splitlines()
    ]
    for row in rows:
        said = row["agent"]["message"]
        if row["arm"] == "prober":
            opened |= set(filter(None, said.removeprefix("open: ").split(", ")))
        elif int(said.split()[0]) < THINGS_MIN or not said.endswith("things; "):
            found.append(f"I8: {row['episode_id']} walked over {said!r}")
    if len(rows) != 2 * TRIALS:
        found.append(f"I4: {len(rows)} rows of {2 * TRIALS}")
    for report in ("report.md", "report.html", "summary.json"):
        if "in-process" not in (run.run_dir / report).read_text():
            found.append(f"{report} does not name the level")
    return found, opened


def test_what_an_arm_is_given_leads_nowhere(card: CardOfTest, runs: Runs, rng: random.Random, tmp_path: Path) -> None:
    """With a canary in the contract, neither the walk nor a file of the run meets it; the report names the level."""
    row = card.row(*ROW)
    found, opened = problems(*secret_run(runs, tmp_path, rng))
    row.trial(2 * TRIALS)
    row.inject(2 * TRIALS)
    row.violations(found)
    row.say(f"open at `in-process` without Ray: {', '.join(sorted(opened))}")


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_the_same_from_a_worker_process(card: CardOfTest, runs: Runs, rng: random.Random, tmp_path: Path) -> None:
    """Under Ray the oracle is another process, and what is open there is less."""
    row = card.row(*ROW)
    words = ["--set", 'engine.kind="ray"', "--set", "engine.workers=1"]
    found, opened = problems(*secret_run(runs, tmp_path, rng, *words))
    row.trial(2 * TRIALS)
    row.inject(2 * TRIALS)
    row.violations(found)
    row.say(f"with Ray: {', '.join(sorted(opened))}")
