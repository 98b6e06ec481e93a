"""How a process ends where arms and signals do their worst: one line of answer, its exit code, and an end at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

Write = Callable[[Path, str, str], Path]

BLOCKS = """
import time
def run(task, environment):
    time.sleep(3600)
"""

CLOSES = """
import os
async def run(task, environment):
    for number in range(3):
        try:
            os.close(number)
        except OSError:
            pass
    return {"reported_success": False}
"""

REPLACES = """
import sys
class Broken:
    def write(self, text): raise RuntimeError("no")
    def flush(self): raise RuntimeError("no")
async def run(task, environment):
    sys.stdout, sys.stderr = None, Broken()
    return {"reported_success": False}
"""

FORKS = """
import os
async def run(task, environment):
    os.fork()
    return {"reported_success": False}
"""

DURING_RESULTS = """
import signal, sys
import orchestrator.session as session
from orchestrator.__main__ import program
genuine = session.make_results
def make_results(*arguments, **named):
    for _ in range({times}):
        signal.raise_signal(signal.{name})
    return genuine(*arguments, **named)
session.make_results = make_results
program()
"""


@pytest.mark.parametrize("code", [BLOCKS, CLOSES, REPLACES, FORKS], ids=["blocks", "closes", "replaces", "forks"])
def test_no_arm_keeps_a_process_from_its_end(
    spawn: Callable[..., subprocess.Popen[str]], write_arm: Write, finish: Any, tmp_path: Path, code: str
) -> None:
    """Where arms block for ever, close or replace the standard streams, or fork: exit 0, all scored, one line."""
    config = write_arm(tmp_path, "bad", code)
    said = finish(spawn(["--config", config, "--json", "--set", "engine.deadline_s=1"], tmp_path))
    assert said.code == 0, said.err
    assert said.json["conservation"]["scored"] == said.json["conservation"]["planned"] > 0


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_while_results_are_written(config: Path, tmp_path: Path, name: str, times: int) -> None:
    """Once, the results are whole and the exit code is the signal's; twice, the process ends at once with it."""
    words = ["--config", config, "--run-dir", "out", "--json"]
    program = DURING_RESULTS.format(name=name, times=times)
    command = [sys.executable, "-c", program, *map(str, words)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=50, check=False)
    exit_code = 128 + signal.Signals[name]
    assert done.returncode == exit_code, done.stderr
    answer = orjson.loads(done.stdout)
    assert answer["exit"] == exit_code
    assert (tmp_path / "out" / "report.html").exists() == (times == 1)
    assert (answer["conservation"] is None) == (times == 2)
    assert b"Traceback" not in done.stderr
