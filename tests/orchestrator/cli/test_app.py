"""The program as a whole: help, version, wrong words, and what it does not load."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.cli.app import command_of, program, with_default

Call = Callable[..., Any]
HEAVY: Final = ("ray", "numpy", "scipy", "duckdb", "jinja2", "rich")


@pytest.mark.parametrize("name", [None, *program.commands])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_everywhere(call: Call, name: str | None, flag: str) -> None:
    """Every command, and the program, explain themselves by either flag."""
    said = call(*([name] if name else []), flag)
    assert said.code == 0
    assert said.out.startswith("Usage: python -m orchestrator")
    assert "-v, --verbose" in said.out


def test_the_version_is_said(call: Call) -> None:
    """--version is one line on standard output."""
    said = call("--version")
    assert said.code == 0
    assert said.out.startswith("trial-orchestrator ")


def test_an_unknown_command_is_answered_with_the_nearest(call: Call) -> None:
    """A mistyped command is exit 2 and names what was probably meant."""
    said = call("stats")
    assert said.code == 2
    assert "'status'" in said.err
    assert call("frobnicate", "--json").json["error"]["message"].startswith("there is no command")


def test_nothing_at_all_is_a_mistake(call: Call) -> None:
    """Without a command and without a configuration, the program says what it misses, in one line."""
    for words in ((), ("-v",)):
        said = call(*words)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("error: neither a command nor --config FILE is given")


def test_an_interrupted_look_is_answered_too(call: Call, tmp_path: Path) -> None:
    """A command that a signal ends has its one object all the same, with no error in it."""
    (tmp_path / "halting_agent.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = tmp_path / "halting.toml"
    path.write_text('format = 1\n[[arms]]\nname = "own"\nuse = "halting_agent:run"\n')
    said = call("plan", "--config", path, "--json")
    assert said.code == 130
    assert said.json == {"exit": 130, "error": None}


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (["--config", "x"], "run"),
        (["-v", "--config", "x"], "run"),
        (["-v", "status", "d"], "status"),
        (["plan", "--config", "x"], "plan"),
        (["-h"], "-h"),
        ([], ""),
    ],
)
def test_options_alone_are_those_of_run(args: list[str], command: str) -> None:
    """Where the first word is an option that is not the program's own, the command is run."""
    assert command_of(args) == command
    assert with_default(args)[-len(args) or None :] == args


def test_a_first_look_loads_nothing_heavy(reference: Path, tmp_path: Path) -> None:
    """Help, version, a bad configuration and a plan leave Ray, the numeric libraries and the renderers unloaded."""
    program = (
        "import sys\nfrom orchestrator.__main__ import main\n"
        f"codes = [main(args) for args in (['-h'], ['--version'], ['--config', {str(tmp_path / 'none.toml')!r}],"
        f" ['--config', {str(reference)!r}, '--set', 'run.trials=0'], ['plan', '--config', {str(reference)!r}])]\n"
        f"print(codes, sorted(set(sys.modules) & {set(HEAVY)}), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)
    assert done.stderr.splitlines()[-1] == "[0, 0, 2, 2, 0] []"
