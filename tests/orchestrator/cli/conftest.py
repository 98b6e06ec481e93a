"""The command line, called in this process, and runs to call it on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pytest

from orchestrator.__main__ import main

ROOT: Final = Path(__file__).parents[3]
REFERENCE: Final = ROOT / "configs" / "reference.toml"
PROCESS_S: Final = 50

ONE_ARM: Final = """\
format = 1
[run]
name = "one"
trials = 2
[engine]
kind = "inline"
[[arms]]
name = "{name}"
use = "{use}"
"""


class Said(NamedTuple):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one line on standard output."""
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        found: dict[str, Any] = orjson.loads(self.out)
        return found


Call = Callable[..., Said]
Spawn = Callable[[Sequence[object], Path], "subprocess.Popen[str]"]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Call:
    """Calls the program in this process, with real descriptors."""

    def run(*args: object) -> Said:
        capfd.readouterr()
        code = main([str(word) for word in args])
        return Said(code, *capfd.readouterr())

    return run


@pytest.fixture(scope="session")
def spawn() -> Spawn:
    """Starts the program as a process of its own, in a folder."""

    def start(args: Sequence[object], folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "orchestrator", *map(str, args)]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration of one scripted arm, inline, two trials of each anchor task."""
    path = tmp_path_factory.mktemp("config") / "one.toml"
    path.write_text(ONE_ARM.format(name="screen_only", use="screen_only"))
    return path


@pytest.fixture(scope="session")
def reference() -> Path:
    """The shipped reference configuration."""
    return REFERENCE


@pytest.fixture
def run_dir(config: Path, call: Call, tmp_path: Path) -> Path:
    """A finished run of that configuration."""
    directory = tmp_path / "finished"
    assert call("--config", config, "--run-dir", directory, "--quiet").code == 0
    return directory


@pytest.fixture(scope="session")
def write_arm() -> Callable[[Path, str, str], Path]:
    """Writes an agent's module and a configuration that uses its function ``run``."""

    def write(folder: Path, module: str, code: str) -> Path:
        (folder / f"{module}.py").write_text(code)
        path = folder / f"{module}.toml"
        path.write_text(ONE_ARM.format(name="own", use=f"{module}:run"))
        return path

    return write


@pytest.fixture(scope="session")
def finish() -> Callable[[subprocess.Popen[str]], Said]:
    """Waits for a process and gives what it said."""

    def wait(process: subprocess.Popen[str]) -> Said:
        out, err = process.communicate(timeout=PROCESS_S)
        return Said(process.returncode, out, err)

    return wait
