"""``run``: one line or nothing on standard output, words for people on standard error, and the promised exit codes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

Call = Callable[..., Any]
Spawn = Callable[..., "subprocess.Popen[str]"]
Finish = Callable[["subprocess.Popen[str]"], Any]
WriteArm = Callable[[Path, str, str], Path]


def test_the_reference_gives_the_published_numbers(call: Call, reference: Path, tmp_path: Path) -> None:
    """The shipped reference, inline: 50 of 90 silent wrong effects for the arm that believes the banner, none else."""
    said = call("--config", reference, "--inline", "--run-dir", tmp_path / "run", "--json")
    assert said.code == said.json["exit"] == 0
    figures = said.json["arms"]
    assert figures["screen_only"] == {
        "n_planned": 90,
        "n_scored": 90,
        "swer": 50 / 90,
        "over_halt": 0.0,
        "task_success": 20 / 90,
        "screen_success": 70 / 90,
    }
    assert figures["effect_verified"]["swer"] == 0.0
    assert said.json["conservation"]["scored"] == 180
    assert said.json["run_dir"] == str(tmp_path / "run")
    assert said.json["error"] is None
    assert f"report: {tmp_path / 'run' / 'report.html'}" in said.err


def test_the_command_may_be_left_out(call: Call, config: Path, tmp_path: Path) -> None:
    """Options without a command are those of run."""
    named = call("run", "--config", config, "--run-dir", tmp_path / "a", "--json", "--quiet").json
    unnamed = call("--config", config, "--run-dir", tmp_path / "b", "--json", "--quiet").json
    assert named["arms"] == unnamed["arms"]


def test_without_json_nothing_is_on_standard_output(call: Call, config: Path, tmp_path: Path) -> None:
    """The summary is for people and goes to standard error."""
    said = call("--config", config, "--run-dir", tmp_path / "run")
    assert (said.code, said.out) == (0, "")
    assert "screen_only" in said.err


def test_quiet_says_nothing(call: Call, config: Path, tmp_path: Path) -> None:
    """With --quiet and without an error, both streams stay empty."""
    said = call("--config", config, "--run-dir", tmp_path / "run", "--quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_run_is_narrowed(call: Call, reference: Path, tmp_path: Path) -> None:
    """--arm, --task and --limit leave trials out, --set and --split change keys."""
    said = call(
        "--config", reference, "--inline", "--run-dir", tmp_path / "run", "--json", "--quiet",
        "--arm", "screen_only", "--task", "mockmed::s*", "--limit", "1", "--split", "all", "--set", "run.trials=3",
    )  # fmt: skip
    assert said.json["conservation"]["planned"] == 3
    assert list(said.json["arms"]) == ["screen_only"]


def test_every_problem_has_its_line(call: Call, tmp_path: Path) -> None:
    """A bad file is exit 2: each problem on one line of standard error, the first of them in the answer."""
    path = tmp_path / "bad.toml"
    path.write_text("format = 1\n[run]\ntrails = 3\n[engine]\nkind = 5\n[[arms]]\nname = 'screen_only'\n")
    said = call("--config", path, "--json")
    assert said.code == said.json["exit"] == 2
    assert len(said.err.splitlines()) == 2
    assert said.json["error"] == {
        "file": str(path),
        "line": 3,
        "key": "run.trails",
        "message": "unknown key",
        "hint": "did you mean 'trials'?",
    }
    assert said.json["arms"] == {}
    assert said.json["conservation"] is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.toml"]


def test_a_misused_option_is_answered_in_the_same_form(call: Call) -> None:
    """What click refuses is exit 2 with the one line of run."""
    said = call("run", "--json", "--bogus")
    assert said.code == said.json["exit"] == 2
    assert set(said.json) == {"exit", "run_dir", "conservation", "arms", "error"}
    assert "--bogus" in said.json["error"]["message"]
    assert "Traceback" not in said.err


def test_a_directory_with_a_run_is_refused(call: Call, config: Path, run_dir: Path) -> None:
    """--run-dir of an earlier run is exit 2 and names resume."""
    said = call("--config", config, "--run-dir", run_dir, "--json")
    assert said.code == 2
    assert "resume" in said.json["error"]["message"]


def test_what_an_agent_prints_stays_off_standard_output(call: Call, write_arm: WriteArm, tmp_path: Path) -> None:
    """A module and an arm that print, by Python and by the descriptor, do not disturb the one line."""
    code = (
        "import os\nprint('from the import')\n"
        "def run(task, environment):\n    print('noise')\n    os.write(1, b'raw')\n"
        "    return {'reported_success': False}\n"
    )
    path = write_arm(tmp_path, "printing_agent", code)
    said = call("--config", path, "--run-dir", tmp_path / "run", "--json", "--limit", "1")
    assert said.json["exit"] == 0
    assert "from the import" in said.err
    assert "raw" in said.err


def test_an_internal_error_is_one_line(
    call: Call, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An uncaught exception is exit 70 with one short line; the traceback goes to the run's log, or to -v."""

    def broken(*_: object, **__: object) -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr("orchestrator.session.make_results", broken)
    directory = tmp_path / "run"
    said = call("--config", config, "--run-dir", directory, "--json", "--quiet")
    assert said.code == said.json["exit"] == 70
    assert said.json["run_dir"] == str(directory)
    assert len(said.err.splitlines()) == 1
    assert "Traceback" not in said.err
    logged = [orjson.loads(line) for line in (directory / "log.jsonl").read_bytes().splitlines()]
    assert "unforeseen" in logged[-1]["exception"]
    assert "Traceback" in call("--config", config, "--run-dir", tmp_path / "other", "--quiet", "-v").err


def test_a_signal_before_the_engine_listens(call: Call, write_arm: WriteArm, tmp_path: Path) -> None:
    """SIGTERM while a user's module is imported ends in 143 with one line, and no file was made."""
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\ndef run(task, environment): return {}\n"
    path = write_arm(tmp_path, "signalling_agent", code)
    said = call("--config", path, "--run-dir", tmp_path / "run", "--json")
    assert said.code == said.json["exit"] == 143
    assert said.json["error"] is None
    assert said.err == "interrupted by SIGTERM\n"
    assert not (tmp_path / "run").exists()


FATEFUL = """\
import os, pathlib, signal
calls = 0
def run(task, environment):
    global calls
    calls += 1
    mark = pathlib.Path(__file__).with_suffix(".mark")
    if calls == 7 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.{signal})
    screen = environment.attempt_intended_action()
    return {{"reported_success": screen.saved}}
"""
SERIAL = ("--set", "engine.in_flight=1", "--json", "--quiet")


def digest(run_dir: Path) -> str:
    return str(orjson.loads((run_dir / "summary.json").read_bytes())["results_digest"])


def test_a_killed_run_is_resumed_to_the_same_results(
    call: Call, spawn: Spawn, finish: Finish, write_arm: WriteArm, tmp_path: Path
) -> None:
    """After kill -9 in the middle, resume runs what is owed and the digest is that of an undisturbed run."""
    path = write_arm(tmp_path, "killed_agent", FATEFUL.format(signal="SIGKILL"))
    said = finish(spawn(["--config", path, "--run-dir", tmp_path / "killed", *SERIAL], tmp_path))
    assert (said.code, said.out) == (-9, "")
    assert call("status", tmp_path / "killed", "--json").json["phase"] == "can be resumed"
    resumed = call("resume", tmp_path / "killed", "--json", "--quiet")
    assert resumed.json["conservation"] == {
        "planned": 18, "scored": 18, "unreadable": 0, "infrastructure": 0, "cancelled": 0, "owed": 0,
    }  # fmt: skip
    assert call("--config", path, "--run-dir", tmp_path / "calm", *SERIAL).code == 0
    assert digest(tmp_path / "killed") == digest(tmp_path / "calm")


def test_a_terminated_run_ends_in_order(spawn: Spawn, finish: Finish, write_arm: WriteArm, tmp_path: Path) -> None:
    """SIGTERM in the middle drains: exit 143, exactly one line, and what was not begun is owed."""
    path = write_arm(tmp_path, "terminated_agent", FATEFUL.format(signal="SIGTERM"))
    said = finish(spawn(["--config", path, "--run-dir", tmp_path / "run", *SERIAL], tmp_path))
    assert said.code == said.json["exit"] == 143
    line = said.json["conservation"]
    assert line["planned"] == line["scored"] + line["owed"]
    assert 7 <= line["scored"] < 18
    assert "Traceback" not in said.err


def test_ten_starts_on_one_directory(spawn: Spawn, finish: Finish, config: Path, tmp_path: Path) -> None:
    """Of ten processes that are given one directory, one runs; the others end in 5 or 2 and harm nothing."""
    directory = tmp_path / "run"
    words = ["--config", config, "--run-dir", directory, "--limit", "1", "--json"]
    said = [finish(process) for process in [spawn(words, tmp_path) for _ in range(10)]]
    codes = sorted(one.json["exit"] for one in said)
    assert codes[0] == 0
    assert set(codes[1:]) <= {2, 5}
    assert [one.code for one in said] == [one.json["exit"] for one in said]
    assert len((directory / "episodes.jsonl").read_bytes().splitlines()) == 2
