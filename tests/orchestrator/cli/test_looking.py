"""The commands that look at a run: status, report, verify, replay, trial and list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.runlock import RunLock

Call = Callable[..., Any]
KEY: Final = "screen_only::mockmed::partial::t1"


def test_status_says_how_a_run_stands(call: Call, run_dir: Path) -> None:
    """Phase, conservation and headline, for people and as JSON; a held lock means running."""
    found = call("status", run_dir, "--json").json
    assert found["phase"] == "finished"
    assert found["conservation"]["scored"] == 18
    assert found["arms"]["screen_only"]["swer"] == 10 / 18
    with RunLock.acquire(run_dir):
        assert call("status", run_dir, "--json").json["phase"] == "running"
    assert "swer 0.5556" in call("status", run_dir).out


def test_report_makes_the_files_again(call: Call, run_dir: Path) -> None:
    """Removed or spoilt files come back byte for byte from the journal."""
    names = ("episodes.jsonl", "summary.json", "report.md", "report.html")
    before = {name: (run_dir / name).read_bytes() for name in names}
    (run_dir / "summary.json").unlink()
    (run_dir / "episodes.jsonl").write_bytes(b"spoilt")
    said = call("report", run_dir)
    assert said.code == 0
    assert said.out.splitlines() == [str(run_dir / name) for name in names]
    assert {name: (run_dir / name).read_bytes() for name in names} == before


def test_verify_answers_no_with_the_first_difference(call: Call, run_dir: Path) -> None:
    """A changed figure is exit 1 and is named; an untouched run is exit 0."""
    assert call("verify", run_dir, "--json").json["exit"] == 0
    path = run_dir / "summary.json"
    summary = orjson.loads(path.read_bytes())
    summary["arms"]["screen_only"]["swer"]["numerator"] = 1
    path.write_bytes(orjson.dumps(summary))
    found = call("verify", run_dir, "--json")
    assert found.code == found.json["exit"] == 1
    assert found.json["difference"]["where"] == "summary.json: arms.screen_only.swer.numerator"
    told = call("verify", run_dir)
    assert "arms.screen_only.swer.numerator" in told.out
    assert f"report {run_dir}" in told.err


def test_replay_gives_the_recorded_trial(call: Call, run_dir: Path) -> None:
    """A trial run again is as recorded, exit 0, with its row; the run itself is untouched."""
    before = (run_dir / "journal.jsonl").read_bytes()
    found = call("replay", run_dir, KEY, "--json")
    assert (found.code, found.json["equal"]) == (0, True)
    assert found.json["row"]["episode_id"] == KEY
    assert (run_dir / "journal.jsonl").read_bytes() == before
    assert call("replay", run_dir, KEY).out.endswith(f"{KEY}: as recorded\n")


def test_trial_shows_a_row_with_its_attempts(call: Call, run_dir: Path) -> None:
    """The lease, the end and the row of one trial."""
    found = call("trial", run_dir, KEY, "--json").json
    assert [line["type"] for line in found["lines"]] == ["lease", "scored"]
    assert found["row"]["episode_id"] == KEY
    assert found["standing"] == "scored"
    assert f"{KEY}: scored" in call("trial", run_dir, KEY).out


def test_why_says_what_became_of_a_trial(call: Call, run_dir: Path) -> None:
    """An ended trial with its attempt and outcome, for people and as JSON."""
    found = call("why", run_dir, KEY, "--json").json
    assert (found["exit"], found["state"], found["works"], found["flight"]) == (0, "ended", False, None)
    assert [(attempt["number"], attempt["how"]) for attempt in found["attempts"]] == [(1, "scored")]
    said = call("why", run_dir, KEY).out.splitlines()
    assert said[0] == f"{KEY}: ended"
    assert said[1].startswith("attempt 1 leased to worker-0 at ")
    assert "scored at" in said[1]


@pytest.mark.parametrize("command", ["replay", "trial", "why"])
def test_an_unknown_key_is_answered_with_the_nearest(call: Call, run_dir: Path, command: str) -> None:
    """A mistyped trial is exit 2."""
    said = call(command, run_dir, "screen_only::mockmed::partail::t1")
    assert said.code == 2
    assert "screen_only::mockmed::partial::t0" in said.err


def test_verify_names_whatever_is_forged_beside_the_figures(call: Call, run_dir: Path) -> None:
    """Kind, pack, split, digests and all else that the summary says of itself is made again too."""
    path = run_dir / "summary.json"
    summary = orjson.loads(path.read_bytes())
    forged = [({**summary, "kind": "x"}, "kind")]
    forged += [({**summary, "info": {**summary["info"], name: "x"}}, f"info.{name}") for name in summary["info"]]
    assert len(forged) > 5
    for summary_of_lies, place in forged:
        path.write_bytes(orjson.dumps(summary_of_lies))
        difference = call("verify", run_dir, "--json").json["difference"]
        assert difference["where"].startswith(f"summary.json: {place}")


@pytest.mark.parametrize("command", ["status", "report", "verify"])
def test_a_folder_without_a_run_is_refused(call: Call, command: str, tmp_path: Path) -> None:
    """Looking at what is no run is exit 2, in both forms, and leaves no file."""
    said = call(command, tmp_path, "--json")
    assert said.code == said.json["exit"] == 2
    assert "no run here" in said.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []


def test_list_names_what_there_is(call: Call, run_dir: Path) -> None:
    """Arms, providers, channels, and the runs of a directory."""
    assert {"screen_only", "always_halt"} <= {arm["name"] for arm in call("list", "arms", "--json").json["arms"]}
    assert "mockmed   built in" in call("list", "providers").out
    assert "snapshot" in call("list", "channels").out
    (run,) = call("list", "runs", "--dir", run_dir.parent, "--json").json["runs"]
    assert (run["run_dir"], run["phase"], run["scored"]) == (str(run_dir), "finished", 18)
    assert "18 of 18 scored" in call("list", "runs", "--dir", run_dir.parent).out
    assert call("list", "runs", "--dir", run_dir / "none").code == 2
