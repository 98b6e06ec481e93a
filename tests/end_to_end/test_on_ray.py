"""On Ray the results are those of a run without it, whatever the number of workers and whatever befell the driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.engine import reaper
from orchestrator.history import JOURNAL_NAME
from orchestrator.results import SUMMARY

pytestmark = [pytest.mark.ray, pytest.mark.timeout(150)]

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "configs" / "reference.toml"
SLEEPER: Final = Path(__file__).parent / "thirdparty" / "sleeper.toml"
PLANNED: Final = 36
"""Nine tasks, two arms, two trials."""

SLOWLY: Final = ("engine.in_flight=1", "engine.lease_max=1", "limits.group_commit_ms=400")
"""Nothing that results depend on, but commits come so seldom that a run can be met in its middle."""

GONE_S: Final = 10.0
IMPATIENT_S: Final = 3.0
LOOK_S: Final = 0.05
START_S: Final = 90.0

Program = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    """Starts the program in a process group of its own, as a shell does; what is left ends with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "orchestrator", *map(str, words)]
        with (tmp_path / f"stderr-{len(started)}").open("w") as stderr:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=ROOT, start_new_session=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="module")
def inline_digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """``results_digest`` of the reference without Ray, two trials of each task."""
    run_dir = tmp_path_factory.mktemp("inline") / "run"
    words = ["run", "--config", REFERENCE, "--inline", "--set", "run.trials=2", "--run-dir", run_dir, "--quiet"]
    subprocess.run([sys.executable, "-m", "orchestrator", *map(str, words)], check=True, cwd=ROOT, capture_output=True)
    return digest_of(run_dir)


def digest_of(run_dir: Path) -> str:
    return str(json.loads((run_dir / SUMMARY).read_bytes())["results_digest"])


def run_words(config: Path, run_dir: Path, sets: Sequence[str], *more: str) -> list[str | Path]:
    return [
        "run",
        "--config",
        config,
        "--run-dir",
        run_dir,
        *more,
        *(word for text in sets for word in ("--set", text)),
    ]


def wait_until(holds: Callable[[], bool], limit_s: float) -> bool:
    """Whether something holds before the time is up."""
    end_s = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end_s:
            return False
        signal.sigtimedwait([], LOOK_S)
    return True


def journal_has(run_dir: Path, word: bytes, times: int) -> Callable[[], bool]:
    journal = run_dir / JOURNAL_NAME
    return lambda: journal.exists() and journal.read_bytes().count(b'"type":"%b"' % word) >= times


def private_directory(driver: subprocess.Popen[str]) -> Path:
    """Where the cluster of a driver keeps its files: its reaper was told."""
    children = (reaper.PROC / str(driver.pid) / "task" / str(driver.pid) / "children").read_text().split()
    commands = [(reaper.PROC / pid / "cmdline").read_text().split("\0") for pid in children]
    return next(Path(words[-2]) for words in commands if any(word.endswith("reaper.py") for word in words))


def is_clear(directory: Path) -> bool:
    return not directory.exists() and reaper.users_of(directory, began=0) == []


def resumed(program: Program, run_dir: Path) -> dict[str, Any]:
    """What ``resume`` answers; without Ray, since no result may depend on that."""
    process = program("resume", run_dir, "--json", "--set", 'engine.kind="inline"')
    answer: dict[str, Any] = json.loads(process.communicate(timeout=START_S)[0])
    return answer


def test_the_number_of_workers_changes_nothing(program: Program, tmp_path: Path, inline_digest: str) -> None:
    """Eight workers give the digest of the run without Ray; standard output is the answer's one line."""
    sets = ["run.trials=2", "engine.workers=8"]
    process = program(*run_words(REFERENCE, tmp_path / "run", sets, "--json"))
    lines = process.communicate(timeout=START_S)[0].splitlines()
    assert process.returncode == 0
    assert len(lines) == 1
    assert json.loads(lines[0])["conservation"]["scored"] == PLANNED
    assert digest_of(tmp_path / "run") == inline_digest


def test_a_killed_driver_leaves_a_run_that_can_be_resumed(program: Program, tmp_path: Path, inline_digest: str) -> None:
    """After kill -9 in the middle no process of the run lives for ten seconds, and resuming gives the same digest."""
    run_dir = tmp_path / "run"
    driver = program(*run_words(REFERENCE, run_dir, ["run.trials=2", "engine.workers=2", *SLOWLY]))
    assert wait_until(journal_has(run_dir, b"scored", 3), START_S)
    directory = private_directory(driver)
    assert len(reaper.users_of(directory, began=0)) > 3
    assert directory.stat().st_mode & 0o077 == 0
    driver.kill()
    assert driver.communicate()[0] == ""
    assert wait_until(lambda: is_clear(directory), GONE_S)
    assert not journal_has(run_dir, b"scored", PLANNED)()
    answer = resumed(program, run_dir)
    assert (answer["exit"], answer["conservation"]["scored"]) == (0, PLANNED)
    assert digest_of(run_dir) == inline_digest


def test_the_first_signal_drains(program: Program, tmp_path: Path, inline_digest: str) -> None:
    """Ctrl-C ends a run with 130 and a whole journal, and resuming runs exactly what is owed."""
    run_dir = tmp_path / "run"
    driver = program(*run_words(REFERENCE, run_dir, ["run.trials=2", "engine.workers=1", *SLOWLY], "--json"))
    assert wait_until(journal_has(run_dir, b"scored", 3), START_S)
    os.killpg(driver.pid, signal.SIGINT)
    lines = driver.communicate(timeout=START_S)[0].splitlines()
    assert driver.returncode == 130
    conservation = json.loads(lines[-1])["conservation"]
    assert len(lines) == 1
    assert 0 < conservation["owed"] < PLANNED
    assert conservation["scored"] + conservation["owed"] == PLANNED
    assert resumed(program, run_dir)["exit"] == 0
    assert journal_has(run_dir, b"scored", PLANNED)()
    assert not journal_has(run_dir, b"scored", PLANNED + 1)()
    assert digest_of(run_dir) == inline_digest


def test_the_second_signal_stops_at_once(program: Program, tmp_path: Path) -> None:
    """A second SIGTERM waits for no arm: the program is gone within three seconds, with 143, and owes the rest."""
    run_dir = tmp_path / "run"
    marker = tmp_path / "asleep"
    driver = program(*run_words(SLEEPER, run_dir, [f'arms.sleeper.options.marker="{marker}"'], "--json"))
    assert wait_until(marker.exists, START_S)
    directory = private_directory(driver)
    driver.send_signal(signal.SIGTERM)
    assert wait_until(lambda: "SIGTERM" in (tmp_path / "stderr-0").read_text(), GONE_S)
    assert driver.poll() is None
    driver.send_signal(signal.SIGTERM)
    began_s = time.monotonic()
    lines = driver.communicate(timeout=START_S)[0].splitlines()
    assert time.monotonic() - began_s < IMPATIENT_S
    assert (driver.returncode, len(lines)) == (143, 1)
    assert json.loads(lines[0])["conservation"]["owed"] == 18
    assert is_clear(directory)


def process_named(driver: subprocess.Popen[str], title: str) -> int | None:
    """The process below a driver whose command line begins with a title, the youngest where there are several."""
    parents = {driver.pid}
    found: list[int] = []
    for entry in sorted(int(path.name) for path in reaper.PROC.iterdir() if path.name.isdigit()):
        try:
            parent = int((reaper.PROC / str(entry) / "stat").read_text().rpartition(")")[2].split()[1])
            command = (reaper.PROC / str(entry) / "cmdline").read_text()
        except OSError:
            continue
        if parent in parents:
            parents.add(entry)
            if title in command:
                found.append(entry)
    return found[-1] if found else None


def test_killed_workers_and_oracles_cost_attempts_and_no_results(
    program: Program, inline_digest: str, tmp_path: Path
) -> None:
    """A worker and then the oracle are killed in the middle: the run goes on by itself and finds what it would have."""
    run_dir = tmp_path / "run"
    slowly = (
        "run.trials=2",
        "engine.workers=2",
        "engine.in_flight=2",
        "engine.lease_max=1",
        "limits.group_commit_ms=300",
    )
    driver = program(*run_words(REFERENCE, run_dir, slowly, "--json"))
    for title, scored in (("ray::RayWorker", 2), ("ray::RayOracle", 8)):
        assert wait_until(journal_has(run_dir, b"scored", scored), START_S)
        victim = process_named(driver, title)
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
        assert wait_until(journal_has(run_dir, b"note", 1 if title == "ray::RayWorker" else 2), GONE_S)
    answer = json.loads(driver.communicate(timeout=START_S)[0])
    assert (answer["exit"], answer["conservation"]["scored"]) == (0, PLANNED)
    assert digest_of(run_dir) == inline_digest


def test_a_dead_cluster_ends_the_run_with_3(program: Program, inline_digest: str, tmp_path: Path) -> None:
    """Ray's GCS is killed: the run ends by itself within 30 s, and resume does the rest. The raylet: tests/faults."""
    run_dir = tmp_path / "run"
    driver = program(*run_words(REFERENCE, run_dir, ("run.trials=2", *SLOWLY), "--json"))
    assert wait_until(journal_has(run_dir, b"scored", 2), START_S)
    victim = process_named(driver, "gcs_server")
    assert victim is not None
    os.kill(victim, signal.SIGKILL)
    answer = json.loads(driver.communicate(timeout=30)[0])
    assert answer["exit"] == driver.returncode == 3
    assert answer["conservation"]["owed"] > 0
    assert resumed(program, run_dir)["exit"] == 0
    assert digest_of(run_dir) == inline_digest
