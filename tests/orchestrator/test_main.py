"""``python -m orchestrator``: a clear word where it cannot start."""

from __future__ import annotations

import json
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
