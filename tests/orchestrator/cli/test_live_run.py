"""A run in a process of its own, steered and looked at from other terminals, and what is told of it once it is dead."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from orchestrator.journal import Line, recover

Call = Callable[..., Any]
Spawn = Callable[..., "subprocess.Popen[str]"]

WAIT_S: Final = 30.0
AGAIN_S: Final = 0.05

ARM: Final = '''\
"""An agent that works until the file ``go`` stands beside it."""

from __future__ import annotations

from pathlib import Path

import anyio

from spec.report import AgentReport

GO = Path(__file__).with_name("go")


async def run(task, environment):
    while not GO.exists():
        await anyio.sleep(0.02)
    return AgentReport(reported_success=False, halted=True)
'''


class Live:
    """A run at work whose arms wait for a file.

    Attributes:
        run_dir: its directory.
        go: lets arms end while it exists.
    """

    def __init__(self, call: Call, spawn: Spawn, folder: Path, config: Path, stack: ExitStack) -> None:
        self.call, self.spawn, self.folder, self.config, self._stack = call, spawn, folder, config, stack
        self.run_dir, self.go = folder / "run", folder / "go"

    def start(self, *args: object) -> subprocess.Popen[str]:
        """Start a session in a process of its own."""
        process = self.spawn([*args, "--json", "--quiet"], self.folder)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        return process

    def first(self) -> subprocess.Popen[str]:
        """Start the run: two arms at once, and two fixtures ahead."""
        sets = ["--set", "engine.in_flight=2", "--set", "limits.heartbeat_s=0.1"]
        return self.start("run", "--config", self.config, "--run-dir", self.run_dir, *sets)

    def status(self) -> dict[str, Any]:
        """What ``status`` says, once there is a run."""
        found: dict[str, Any] = self.call("status", self.run_dir, "--json").json
        return found

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first status that is as wanted."""
        until_s = time.monotonic() + WAIT_S
        while True:
            if (self.run_dir / "journal.jsonl").exists():
                status = self.status()
                if wanted(status):
                    return status
                assert time.monotonic() < until_s, status
            time.sleep(AGAIN_S)

    def text(self, *args: object) -> str:
        """What a command says, which has to succeed."""
        said = self.call(*args)
        assert said.code == 0, said
        return str(said.out)

    def notes(self) -> list[str]:
        """The notes of commands in the journal, in order."""
        found: list[str] = []

        def take(line: Line) -> None:
            text = str(line.body().get("text", ""))
            if line.type == "note" and text.startswith("on request: "):
                found.append(text.removeprefix("on request: "))

        recover(self.run_dir / "journal.jsonl", take)
        return found


def running(status: dict[str, Any]) -> list[str]:
    return sorted(trial["key"] for trial in status["in_flight"] if trial["phase"] == "running")


@pytest.fixture
def live(call: Call, spawn: Spawn, write_arm: Callable[..., Path], tmp_path: Path) -> Iterator[Live]:
    """A configuration of the waiting agent: 18 trials."""
    with ExitStack() as stack:
        yield Live(call, spawn, tmp_path, write_arm(tmp_path, f"waiting_{secrets.token_hex(4)}", ARM), stack)


def test_a_run_is_paused_set_and_drained_from_another_terminal(live: Live, finish: Callable[..., Any]) -> None:
    """Pause holds what has not begun, a setting takes effect and is kept, a drain leaves the rest owed with exit 3."""
    process = live.first()
    before = live.until(lambda status: len(running(status)) == 4)
    assert (before["live"], before["phase"], before["in_flight_max"]) == (True, "running", 2)
    assert all(trial["attempt"] == 1 and trial["age_s"] >= 0 and trial["waits_for"] for trial in before["in_flight"])
    assert "paused" in live.text("pause", live.run_dir)
    live.go.touch()
    paused = live.until(lambda status: len(running(status)) == 2 and status["conservation"]["scored"] == 2)
    assert paused["paused"]
    live.go.unlink()
    assert live.text("set", live.run_dir, "engine.in_flight=3") == "engine.in_flight is 3, was 2\n"
    assert (live.status()["paused"], running(live.status())) == (True, running(paused))
    live.text("unpause", live.run_dir)
    now = live.until(lambda status: len(running(status)) == 6)
    assert now["in_flight_max"] == 3
    why = live.call("why", live.run_dir, running(now)[0], "--json").json
    assert (why["state"], why["flight"]["phase"], why["live"]) == ("in flight", "running", True)
    assert "resume" in live.text("stop", live.run_dir, "--drain")
    live.go.touch()
    said = finish(process)
    assert said.code == said.json["exit"] == 3
    assert 5 <= said.json["conservation"]["scored"] <= 8
    assert said.json["conservation"]["scored"] + said.json["conservation"]["owed"] == 18
    assert not (live.run_dir / "control").is_symlink()
    assert not (live.run_dir / "in_flight.json").exists()
    assert "in_flight = 3\n" in (live.run_dir / "run.toml").read_text()
    assert [note.split(":")[0] for note in live.notes()] == [
        "paused",
        "engine.in_flight is 3, was 2",
        "no longer paused",
        "stopped",
    ]


def test_a_run_is_cancelled_by_one_of_several_terminals(live: Live, finish: Callable[..., Any]) -> None:
    """Several terminals at once all get their answer; what is owed becomes cancelled, and the run is complete."""
    process = live.first()
    live.until(lambda status: len(running(status)) == 4)
    at_once = [
        live.spawn(["set", live.run_dir, f"engine.in_flight={number}", "--json"], live.folder) for number in (3, 4)
    ]
    at_once += [live.spawn(["status", live.run_dir, "--json"], live.folder)]
    assert [finish(terminal).json["exit"] for terminal in at_once] == [0, 0, 0]
    assert len(live.notes()) == 2
    assert "cancelled" in live.text("stop", live.run_dir, "--cancel")
    said = finish(process)
    assert said.code == said.json["exit"] == 0
    assert said.json["conservation"] == {
        "planned": 18,
        "scored": 0,
        "unreadable": 0,
        "infrastructure": 0,
        "cancelled": 18,
        "owed": 0,
    }
    key = "own::mockmed::ok::t0"
    why = live.call("why", live.run_dir, key, "--json").json
    assert (why["state"], why["attempts"][-1]["how"], why["attempts"][-1]["cause"]) == ("ended", "cancelled", "stopped")
    assert live.call("verify", live.run_dir).code == 0
    assert live.call("pause", live.run_dir).code == 2


def test_a_run_that_was_killed_says_what_it_was_doing(live: Live, finish: Callable[..., Any]) -> None:
    """Its last look and its journal say it; the next session replaces the stale link and ends the run."""
    process = live.first()
    seen = live.until(lambda status: len(running(status)) == 4)
    written = (live.run_dir / "in_flight.json").stat().st_mtime_ns
    while (live.run_dir / "in_flight.json").stat().st_mtime_ns == written:
        time.sleep(AGAIN_S)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait(WAIT_S) == -signal.SIGKILL
    dead = live.status()
    assert (dead["phase"], dead["live"], running(dead)) == ("can be resumed", False, running(seen))
    assert {trial["last_event"] for trial in dead["in_flight"] if trial["phase"] == "running"} == {"Ready"}
    said = live.text("why", live.run_dir, running(seen)[0])
    assert "running since" in said
    assert "`resume" in said
    assert "in flight when last seen" in live.text("status", live.run_dir)
    stale = (live.run_dir / "control").readlink()
    assert live.call("stop", live.run_dir).code == 2
    live.go.touch()
    resumed = finish(live.start("resume", live.run_dir))
    assert resumed.code == 0
    assert resumed.json["conservation"]["scored"] == 18
    assert not stale.parent.exists()
    assert not (live.run_dir / "control").is_symlink()
