"""Row 22: wall time may jump as it likes: durations, deadlines, order and results stay."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import orjson
import pytest

import spec.clock
from tests.checker import check
from tests.faults.card import CardOfTest, Scale
from tests.faults.disks import Refusing
from tests.faults.harness import ROOT, Runs
from tests.faults.in_process import begin, finish, go_on, small_config
from tests.faults.refusals import CANNOT_WRITE

ROW: Final = (22, "clock jumps: an hour, 1970, DST")
HOUR_NS: Final = 3600 * 10**9
DEADLINE_S: Final = 0.4
HANGING: Final = Path(__file__).parent / "thirdparty" / "hanging.toml"
PATIENCE_S: Final = 20.0
SHIPPED: Final = ("arms", "models", "oracle", "orchestrator", "providers", "spec")
WALL: Final = re.compile(
    r"time\.time|(?<![mc])time_ns|from time import|datetime\.(now|utcnow|today)|date\.today|localtime|gmtime|ctime\("
)
"""Every way to read the machine's wall time."""

Jump = Callable[[int, int], int]
"""Number of the reading, true nanoseconds -> what the clock shows."""

JUMPS: Final[Mapping[str, Jump]] = {
    "an hour ahead, later": lambda number, now: now + (number > 20) * HOUR_NS,
    "an hour back, later": lambda number, now: now - (number > 20) * HOUR_NS,
    "to 1970 and back": lambda number, now: now if number % 7 else number,
    "before 1970": lambda number, now: -number * 10**9,
    "summer time, to and fro": lambda number, now: now + number // 10 % 2 * HOUR_NS,
    "backwards, always": lambda number, now: now - number * HOUR_NS,
    "stands still": lambda number, now: 10**18,
}
FAKETIME: Final = shutil.which("faketime")


def set_clock(monkeypatch: pytest.MonkeyPatch, jump: Jump) -> Callable[[], int]:
    """Let the one clock of this process jump; gives a function that says how often it was read."""
    readings = 0

    def time_ns() -> int:
        nonlocal readings
        readings += 1
        return jump(readings, time.time_ns())

    monkeypatch.setattr(spec.clock, "time", SimpleNamespace(time_ns=time_ns, monotonic=time.monotonic))
    return lambda: readings


def rows_of(run_dir: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run_dir / "episodes.jsonl").read_bytes().splitlines()]


def duration_problems(run_dir: Path) -> list[str]:
    return [f"{row['episode_id']} took {row['latency_s']} s" for row in rows_of(run_dir) if not row["latency_s"] >= 0]


@pytest.mark.parametrize("name", JUMPS)
@pytest.mark.timeout(300)
def test_a_run_and_its_resume_do_not_care(
    card: CardOfTest,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    rng: random.Random,
    name: str,
) -> None:
    """A run that is broken off in its middle and resumed, both on a clock that jumps, gives the undisturbed results."""
    row, config, run_dir = card.row(*ROW), small_config(tmp_path), tmp_path / "run"
    undisturbed = finish(config, tmp_path / "undisturbed")
    readings = set_clock(monkeypatch, JUMPS[name])
    with Refusing(rng.randrange(2, 6), only=("datasync",)):
        assert begin(capfd, config, run_dir).code == CANNOT_WRITE
    said = go_on(capfd, run_dir)
    row.trial()
    row.inject(readings())
    found = [str(one) for one in check(run_dir, undisturbed=undisturbed, exit_code=said.code)]
    row.violations(f"{name}: {one}" for one in [*found, *duration_problems(run_dir)])


@pytest.mark.parametrize("name", ["an hour ahead, later", "to 1970 and back"])
def test_deadlines_are_those_of_the_steady_clock(
    card: CardOfTest, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    """An arm that hangs is ended at its deadline and one that is quick never, whatever the wall clock shows."""
    row, run_dir = card.row(*ROW), tmp_path / "run"
    set_clock(monkeypatch, JUMPS[name])
    began_s = time.monotonic()
    narrow = ["--task", "*::ok", "--arm", "sleeps", "--arm", "neighbour", "--set", "engine.in_flight=8"]
    said = begin(capfd, HANGING, run_dir, *narrow, "--set", f"engine.deadline_s={DEADLINE_S}")
    took_s = time.monotonic() - began_s
    row.trial()
    row.inject()
    faults = {row["arm"]: (row["env_fingerprint"]["arm_fault"], row["latency_s"]) for row in rows_of(run_dir)}
    expected = {"sleeps": "timeout", "neighbour": None}
    if said.code or {arm: fault for arm, (fault, _) in faults.items()} != expected or took_s > PATIENCE_S:
        row.violations([f"{name}: exit code {said.code} after {took_s:.1f} s, {faults}"])
    elif not DEADLINE_S <= faults["sleeps"][1] < DEADLINE_S + 1:
        row.violations([f"{name}: the deadline came after {faults['sleeps'][1]} s"])


def test_only_the_clock_reads_wall_time(card: CardOfTest) -> None:
    """No shipped line but those of the clock names a way to read the machine's wall time."""
    row = card.row(*ROW)
    files = [path for top in SHIPPED for path in (ROOT / top).rglob("*.py") if path != ROOT / "spec" / "clock.py"]
    row.trial(len(files))
    assert WALL.search((ROOT / "spec" / "clock.py").read_text())
    for path in files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if WALL.search(line):
                row.violations([f"{path.relative_to(ROOT)}:{number} reads wall time: {line.strip()}"])


@pytest.mark.faults("quick")
@pytest.mark.skipif(FAKETIME is None, reason="faketime is not installed (Debian: faketime)")
@pytest.mark.timeout(600)
def test_a_driver_under_faketime(card: CardOfTest, scale: Scale, runs: Runs, tmp_path: Path) -> None:
    """The whole program with another wall time than the machine's: the same results, and it comes to its end."""
    row, config = card.row(*ROW), small_config(tmp_path)
    undisturbed = runs.undisturbed(config)
    for offset in ("-1h", "+1h", "-56y")[: scale(smoke=0, quick=1, full=3)]:
        run_dir = tmp_path / f"run{offset}"
        words = [sys.executable, "-m", "orchestrator", "run", "--config", config, "--run-dir", run_dir, "--json"]
        command = [str(word) for word in [FAKETIME, "-f", offset, *words]]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=120)
        row.trial()
        row.inject()
        found = check(run_dir, undisturbed=undisturbed, exit_code=done.returncode)
        row.violations(f"faketime {offset}: {one} {done.stderr.decode()[-300:]}" for one in found)
