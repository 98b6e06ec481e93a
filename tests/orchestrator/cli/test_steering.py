"""The commands that steer a run at work: pause, unpause, stop and set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

Call = Callable[..., Any]

COMMANDS: Final = (("pause",), ("unpause",), ("stop",), ("stop", "--drain"), ("stop", "--cancel"), ("set",))


def words(command: tuple[str, ...], run_dir: Path) -> list[object]:
    return [*command, run_dir, *(["engine.in_flight=2"] if command == ("set",) else [])]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_run_that_nobody_works_on_is_exit_2(call: Call, run_dir: Path, command: tuple[str, ...]) -> None:
    """The message names what goes on with it; the run is untouched."""
    before = {path.name: path.read_bytes() for path in run_dir.iterdir()}
    said = call(*words(command, run_dir), "--json")
    assert said.code == said.json["exit"] == 2
    assert "nobody works on" in said.json["error"]["message"]
    assert f"resume {run_dir}" in said.json["error"]["message"]
    assert "nobody works on" in call(*words(command, run_dir)).err
    assert {path.name: path.read_bytes() for path in run_dir.iterdir()} == before


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_folder_without_a_run_is_refused(call: Call, tmp_path: Path, command: tuple[str, ...]) -> None:
    """What is no run is exit 2, and nothing is written there."""
    said = call(*words(command, tmp_path))
    assert said.code == 2
    assert "no run here" in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["pause", "unpause", "stop", "set", "why"])
def test_every_command_has_its_help(call: Call, command: str) -> None:
    """``-h`` says what it does, on standard output."""
    said = call(command, "-h")
    assert said.code == 0
    assert "RUN_DIR" in said.out


def test_the_ways_to_stop_exclude_each_other(call: Call, run_dir: Path) -> None:
    """Both at once are a misuse."""
    said = call("stop", run_dir, "--drain", "--cancel")
    assert said.code == 2
    assert "exclude each other" in said.err
