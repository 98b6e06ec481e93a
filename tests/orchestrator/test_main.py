"""``python -m orchestrator``: a clear word where it cannot start."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.__main__ import hindrance_of


@pytest.mark.parametrize("name", ["oracle", "spec.py"])
def test_a_folder_that_hides_a_package_is_named(tmp_path: Path, name: str) -> None:
    """Started where a package or module of the user's has a name of ours, the program names it and ends in 2."""
    if name.endswith(".py"):
        (tmp_path / name).touch()
    else:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    command = [sys.executable, "-m", "orchestrator", "plan", "--config", "x.toml", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 2
    assert f"{tmp_path / name} has the name of the orchestrator's own package" in done.stderr
    assert json.loads(done.stdout)["error"]["message"] in done.stderr
    assert "Traceback" not in done.stderr


def test_platforms() -> None:
    """Windows is refused with a way out; Linux and macOS start."""
    assert "WSL" in hindrance_of("win32")
    assert hindrance_of("linux") == hindrance_of("darwin") == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_command_line_is_answered(number: signal.Signals) -> None:
    """Whatever is being imported when a signal comes, there is one line each way, its exit code and no traceback."""
    program = (
        "import signal, sys, orchestrator.__main__ as start\n"
        f"class Early:\n    def find_spec(self, *_): signal.raise_signal({number:d})\n"
        "sys.meta_path.insert(0, Early())\n"
        "start.program()"
    )
    command = [sys.executable, "-c", program, "run", "--config", "x.toml", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.returncode, done.stderr) == (128 + number, f"interrupted by {number.name}\n")
    assert json.loads(done.stdout)["exit"] == 128 + number


def test_the_answer_stands_alone() -> None:
    """What an exit handler or a thread prints after the answer goes to standard error."""
    program = "import atexit, orchestrator.__main__ as start; atexit.register(print, 'bye'); start.program()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("trial-orchestrator")
    assert "bye" not in done.stdout
    assert "bye" in done.stderr
