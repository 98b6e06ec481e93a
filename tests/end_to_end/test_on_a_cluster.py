"""On a cluster of others the results are those of one process, however many nodes it has and while they come and go."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.history import JOURNAL_NAME
from orchestrator.results import SUMMARY
from spec.sources import SHIPPED_FOLDER

pytestmark = [pytest.mark.ray, pytest.mark.timeout(150)]

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = ROOT / "configs" / "reference.toml"
PLANNED: Final = 36
"""Nine tasks, two arms, two trials."""

UNHURRIED: Final = Path(__file__).parent / "thirdparty" / "unhurried.toml"
UNHURRIED_PLANNED: Final = 90

SLOWLY: Final = ("engine.in_flight=3", "engine.lease_max=1", "limits.group_commit_ms=1000")
"""A run that goes on for longer than a dead node takes to be missed."""

LOOK_S: Final = 0.05
RUN_S: Final = 90.0
NODE_S: Final = 30.0

AGENT: Final = '''
"""Writes down where it was imported from."""

from pathlib import Path

import helper_of_clerk


class Clerk:
    def __init__(self, marker):
        self.marker = marker

    async def __call__(self, task, environment):
        Path(self.marker).write_text(__file__ + "\\n" + helper_of_clerk.__file__)
        return {"reported_success": False, "halted": True, "message": ""}
'''


class SmallCluster:
    """A cluster in a process of its own, see ``small_cluster``.

    Attributes:
        address: where it is joined.
        environment: with the token that it wants.
        nodes: how many it has, the head included.
    """

    def __init__(self, temp_dir: Path) -> None:
        token = temp_dir / "token"
        token.touch(mode=0o600)
        token.write_text(os.urandom(32).hex())
        ray = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **ray}
        command = [sys.executable, "-m", "tests.end_to_end.small_cluster", str(temp_dir)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=self.environment,
        )
        self.address = self._answer()
        self.nodes = 1
        self.drivers: list[subprocess.Popen[str]] = []

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, order: str) -> str:
        """Order something; the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self._answer()

    def grow_to(self, nodes: int) -> None:
        """Have that many nodes; each but the head has one core."""
        while self.nodes < nodes:
            self.tell("add 1")
            self.nodes += 1

    def start(self, run_dir: Path, *sets: str, config: Path = REFERENCE, **environment: str) -> subprocess.Popen[str]:
        """Start a run there; what it says on standard error is in ``<run_dir>.log``."""
        sets = (f'engine.address="{self.address}"', *sets)
        words = ["--config", str(config), "--run-dir", str(run_dir), "--json"]
        command = [sys.executable, "-m", "orchestrator", "run", *words, *(w for s in sets for w in ("--set", s))]
        with run_dir.with_suffix(".log").open("w") as log:
            driver = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                env={**self.environment, **environment},
            )
        self.drivers.append(driver)
        return driver

    def end(self) -> None:
        """End it, and the runs that are still there."""
        for process in self.drivers:
            process.kill()
            process.communicate()
        self.process.communicate(timeout=NODE_S)


@pytest.fixture(scope="module")
def small_cluster() -> Iterator[SmallCluster]:
    """One cluster for all tests here; it grows, and a node of it is killed."""
    temp_dir = Path(tempfile.mkdtemp(prefix="tc-", dir="/tmp"))
    made = SmallCluster(temp_dir)
    yield made
    made.end()
    shutil.rmtree(temp_dir, ignore_errors=True)


@pytest.fixture(scope="module")
def inline_digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """``results_digest`` of the reference without Ray, two trials of each task."""
    return run_inline(tmp_path_factory.mktemp("inline") / "run", REFERENCE, "run.trials=2")


@pytest.fixture(scope="module")
def unhurried_digest(tmp_path_factory: pytest.TempPathFactory) -> str:
    """``results_digest`` of the slow arm without Ray."""
    return run_inline(tmp_path_factory.mktemp("inline") / "run", UNHURRIED, "engine.in_flight=90")


def run_inline(run_dir: Path, config: Path, setting: str) -> str:
    words = ["run", "--config", config, "--inline", "--set", setting, "--run-dir", run_dir, "--quiet"]
    subprocess.run([sys.executable, "-m", "orchestrator", *map(str, words)], check=True, cwd=ROOT, capture_output=True)
    return digest_of(run_dir)


def digest_of(run_dir: Path) -> str:
    return str(json.loads((run_dir / SUMMARY).read_bytes())["results_digest"])


def finish(driver: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a run's end; what it answers."""
    answer: dict[str, Any] = json.loads(driver.communicate(timeout=RUN_S)[0])
    return answer


def log_of(run_dir: Path) -> str:
    return run_dir.with_suffix(".log").read_text()


def lines_of(run_dir: Path, type_: str) -> list[dict[str, Any]]:
    journal = run_dir / JOURNAL_NAME
    whole = journal.read_bytes().splitlines() if journal.exists() else []
    lines = [json.loads(line) for line in whole if line.endswith(b"}")]
    return [line for line in lines if line["type"] == type_]


def wait_until(holds: Callable[[], bool], limit_s: float = RUN_S) -> None:
    end_s = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < end_s
        signal.sigtimedwait([], LOOK_S)


@pytest.mark.parametrize(("nodes", "workers"), [(1, 1), (2, 1), (4, 3)])
def test_the_number_of_nodes_changes_nothing(
    small_cluster: SmallCluster, tmp_path: Path, inline_digest: str, nodes: int, workers: int
) -> None:
    """One, two and four nodes give the digest of the run without Ray; the head works only where it is alone."""
    small_cluster.grow_to(nodes)
    run_dir = tmp_path / "run"
    answer = finish(small_cluster.start(run_dir, "run.trials=2"))
    assert (answer["exit"], answer["conservation"]["scored"]) == (0, PLANNED), log_of(run_dir)
    assert digest_of(run_dir) == inline_digest
    assert f"workers: {workers} on " in log_of(run_dir)


def test_a_job_is_sent_with_its_code(small_cluster: SmallCluster, tmp_path: Path) -> None:
    """Inside a job the same file runs, and the user's modules are imported from what was shipped, not from here."""
    small_cluster.grow_to(2)
    marker, config = tmp_path / "marker", tmp_path / "mine" / "job.toml"
    config.parent.mkdir()
    config.write_text(REFERENCE.read_text() + '\n[[arms]]\nname = "clerk"\nuse = "clerk_for_cluster:Clerk"\n')
    (config.parent / "clerk_for_cluster.py").write_text(AGENT)
    (config.parent / "helper_of_clerk.py").touch()
    driver = small_cluster.start(
        tmp_path / "run",
        "run.trials=2",
        'engine.address="job"',
        f'arms.clerk.options={{marker="{marker}"}}',
        config=config,
        RAY_ADDRESS=small_cluster.address,
    )
    answer = finish(driver)
    assert answer["conservation"]["scored"] == PLANNED * 3 // 2, log_of(tmp_path / "run")
    places = marker.read_text().splitlines()
    assert [Path(place).parent.name for place in places] == [SHIPPED_FOLDER, SHIPPED_FOLDER]


def test_a_node_that_comes_in_the_middle_is_used(
    small_cluster: SmallCluster, tmp_path: Path, unhurried_digest: str
) -> None:
    """A node added to a run at work gets a worker, and that gets leases."""
    small_cluster.grow_to(2)
    run_dir = tmp_path / "run"
    driver = small_cluster.start(run_dir, config=UNHURRIED)
    wait_until(lambda: len(lines_of(run_dir, "scored")) >= 1)
    known = {line["worker"] for line in lines_of(run_dir, "lease")}
    small_cluster.tell("add 1")
    answer = finish(driver)
    assert (answer["exit"], answer["conservation"]["scored"]) == (0, UNHURRIED_PLANNED), log_of(run_dir)
    assert {line["worker"] for line in lines_of(run_dir, "lease")} > known, log_of(run_dir)
    assert digest_of(run_dir) == unhurried_digest


def test_a_killed_node_costs_attempts_and_no_results(
    small_cluster: SmallCluster, tmp_path: Path, unhurried_digest: str
) -> None:
    """A node that dies in the middle is missed within ten seconds, and what it had is run on the others."""
    small_cluster.grow_to(4)
    run_dir = tmp_path / "run"
    driver = small_cluster.start(run_dir, config=UNHURRIED)
    wait_until(lambda: len(lines_of(run_dir, "scored")) >= 4)
    here = re.search(r"this process is on node (\w+)", log_of(run_dir))
    assert here is not None
    small_cluster.tell(f"spare {here[1]}")
    wait_until(lambda: lines_of(run_dir, "note") != [], 10.0)
    answer = finish(driver)
    assert (answer["exit"], answer["conservation"]["scored"]) == (0, UNHURRIED_PLANNED), log_of(run_dir)
    assert "is lost" in lines_of(run_dir, "note")[0]["text"]
    assert lines_of(run_dir, "failed") != []
    assert digest_of(run_dir) == unhurried_digest
