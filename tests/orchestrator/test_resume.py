"""Resume: what is owed, and only that, from the run's own configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.config import load_config
from orchestrator.manifest import read_manifest
from orchestrator.resume import resume
from orchestrator.runlock import RunLock
from orchestrator.session import Ended, run
from orchestrator.watcher import Silence
from spec.errors import InputError

CONFIG = """\
format = 1
[run]
trials = 2
attempts = 1
[engine]
kind = "inline"
[provider]
use = "{provider}"
tasks = ["mockmed::ok", "mockmed::partial"]
[[arms]]
name = "screen_only"
"""

FICKLE = """\
from pathlib import Path
from providers.mockmed import MockMed

class Fickle(MockMed):
    async def open(self, task, payload):
        if payload.seed == 1 and not Path(__file__).with_suffix(".mended").exists():
            raise OSError("no fixture today")
        return await super().open(task, payload)
"""

OPTED = """\
class Agent:
    def __init__(self, word="old"):
        self.word = word

    async def __call__(self, task, environment):
        return {"reported_success": False, "message": self.word}
"""

Again = Callable[..., Ended]


@pytest.fixture
def again(tmp_path: Path) -> Again:
    """Resumes the run of this test."""

    def call(**options: Any) -> Ended:
        with RunLock.acquire(tmp_path / "run") as lock:
            return resume(lock, environ={}, watcher=Silence(), **options)

    return call


def begin(tmp_path: Path, provider: str = "mockmed") -> Ended:
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(provider=provider))
    return run(load_config(path, environ={}), run_dir=tmp_path / "run")


def types(tmp_path: Path) -> list[str]:
    return [orjson.loads(line)["type"] for line in (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines()]


def test_a_finished_run_owes_nothing(tmp_path: Path, again: Again) -> None:
    """Resuming it leases nothing and gives the same results; its files are made again."""
    digest = begin(tmp_path).summary["results_digest"]
    (tmp_path / "run" / "report.html").unlink()
    before = types(tmp_path)
    ended = again()
    assert (ended.exit_code, ended.summary["results_digest"]) == (0, digest)
    assert types(tmp_path)[len(before) :] == ["resume", "commit", "end", "commit"]
    assert (tmp_path / "run" / "report.html").is_file()


def test_what_ended_apart_is_owed_again_only_when_asked(tmp_path: Path, again: Again) -> None:
    """Infrastructure trials stay ended until --retry names them; then they are reopened and scored."""
    (tmp_path / "fickle_provider.py").write_text(FICKLE)
    assert begin(tmp_path, "fickle_provider:Fickle").summary["conservation"]["infrastructure"] == 2
    (tmp_path / "fickle_provider.mended").touch()
    assert again().summary["conservation"]["infrastructure"] == 2
    assert again(retry=["unreadable"]).summary["conservation"]["infrastructure"] == 2
    ended = again(retry=["infrastructure"])
    assert ended.summary["conservation"]["scored"] == 4
    assert types(tmp_path).count("reopened") == 2


def test_free_keys_may_change(tmp_path: Path, again: Again) -> None:
    """How fast and how patiently a run goes on is free, and the run's own file follows."""
    begin(tmp_path)
    assert again(sets=["engine.in_flight=3", "oracle.read_attempts=9", "run.trials=3"]).exit_code == 0
    assert "in_flight = 3" in (tmp_path / "run" / "run.toml").read_text()
    assert again().summary["conservation"]["planned"] == 6
    lines = [orjson.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines()]
    assert [line["changes"] for line in lines if line["type"] == "resume"] == [
        [
            {"key": "run.trials", "old": 2, "new": 3},
            {"key": "engine.in_flight", "old": 256, "new": 3},
            {"key": "oracle.read_attempts", "old": 5, "new": 9},
        ],
        [],
    ]
    manifest = read_manifest(tmp_path / "run")
    assert (manifest["sessions"], manifest["trials"], manifest["seeds"]) == (3, 3, {"first": 0, "last": 2})


def lines_of(tmp_path: Path, line_type: str) -> list[dict[str, Any]]:
    lines = [orjson.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_bytes().splitlines()]
    return [line for line in lines if line["type"] == line_type]


def rows_of(tmp_path: Path) -> list[str]:
    return [
        orjson.loads(line)["episode_id"] for line in (tmp_path / "run" / "episodes.jsonl").read_bytes().splitlines()
    ]


@pytest.mark.parametrize(
    ("change", "named", "invalidated", "left"),
    [
        ("run.trials=1", ["run.trials was 2 and would be 1", "invalidates no ended trial: 2 are kept; 2 "], 0, 2),
        ("engine.deadline_s=5", ["engine.deadline_s was 600", "arm screen_only has changed (its deadline)"], 4, 0),
        ("limits.report_bytes_max=2048", ["(limits.report_bytes_max)"], 4, 0),
        ('provider.tasks=["mockmed::ok"]', ["provider.tasks was", "task mockmed::partial is gone"], 0, 2),
        (
            "arms.screen_only.use=always_halt",
            ["arms.screen_only.use was", "arm screen_only has changed (another arm)"],
            4,
            0,
        ),
        ("run.seed=7", ["run.seed was 0", "the provider (the run's seed) has changed"], 4, 0),
        ("run.attempts=2", ["run.attempts was 1 and would be 2"], 0, 0),
    ],
)
def test_a_gated_change_needs_consent(
    tmp_path: Path, again: Again, change: str, named: list[str], invalidated: int, left: int
) -> None:
    """Refused, it names what changed and writes nothing; accepted, exactly the trials that are others now run again."""
    begin(tmp_path)
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    with pytest.raises(InputError, match="no longer the run that was begun") as caught:
        again(sets=[change])
    for text in named:
        assert text in str(caught.value)
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before
    ended = again(sets=[change], accept_changes=True)
    reopened = lines_of(tmp_path, "reopened")
    assert [(line["why"], line["attempt"]) for line in reopened] == [("changed", 1)] * invalidated
    assert ended.summary["conservation"]["planned"] == ended.summary["conservation"]["scored"] == 4 - left
    assert len(rows_of(tmp_path)) == 4 - left
    kept = {"plans": 2, "trials": 4 - left - invalidated}
    assert ended.summary["info"].get("kept") == (None if change == "run.trials=1" else kept)
    assert again().exit_code == 0
    assert len(lines_of(tmp_path, "reopened")) == invalidated


def test_only_the_changed_arm_runs_again(tmp_path: Path, again: Again) -> None:
    """Of two arms one has changed: its rows are all of its new options, the other's are kept, and that is told."""
    (tmp_path / "opted_agent.py").write_text(OPTED)
    config = CONFIG.format(provider="mockmed") + '[[arms]]\nname = "own"\nuse = "opted_agent:Agent"\n'
    (tmp_path / "config.toml").write_text(config)
    run(load_config(tmp_path / "config.toml", environ={}), run_dir=tmp_path / "run")
    with pytest.raises(InputError, match=r"arm own has changed \(its options\)") as caught:
        again(sets=["arms.own.options.word=new"])
    assert "invalidates 4 ended trials: 4 of own (own::mockmed::ok::t0," in str(caught.value)
    assert "; 4 are kept" in str(caught.value)
    again(sets=["arms.own.options.word=new"], accept_changes=True)
    assert {line["key"].partition("::")[0] for line in lines_of(tmp_path, "reopened")} == {"own"}
    rows = [orjson.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_bytes().splitlines()]
    assert [row["agent"]["message"] for row in rows if row["arm"] == "own"] == ["new"] * 4
    assert [row["env_fingerprint"]["attempt"] for row in rows if row["arm"] == "own"] == [2] * 4
    assert [row["env_fingerprint"]["attempt"] for row in rows if row["arm"] == "screen_only"] == [1] * 4
    (opened,) = lines_of(tmp_path, "resume")
    assert {change["key"] for change in opened["changes"]} == {"arms.own.options", "parts.arms.own"}
    manifest = read_manifest(tmp_path / "run")
    assert manifest["kept"] == {"plans": 2, "trials": 4}
    assert [plan["session"] for plan in manifest["plans"]] == [1, 2]
    assert manifest["parts"] == opened["parts"]
    assert "4 trials ended under an earlier plan and were kept" in (tmp_path / "run" / "report.md").read_text()


def test_a_trial_that_left_may_come_back(tmp_path: Path, again: Again) -> None:
    """A trial that is planned again counts with its old row, unless it has changed meanwhile; its attempts go on."""
    begin(tmp_path)
    assert again(sets=["run.trials=1"], accept_changes=True).summary["conservation"]["planned"] == 2
    assert again(sets=["engine.deadline_s=5"], accept_changes=True).summary["conservation"]["scored"] == 2
    assert len(lines_of(tmp_path, "reopened")) == 2
    ended = again(sets=["run.trials=2"])
    assert ended.summary["conservation"]["scored"] == 4
    assert [(line["key"][-1], line["why"]) for line in lines_of(tmp_path, "reopened")][2:] == [("1", "changed")] * 2
    assert {(line["key"], line["attempt"]) for line in lines_of(tmp_path, "scored")[-2:]} == {
        ("screen_only::mockmed::ok::t1", 2),
        ("screen_only::mockmed::partial::t1", 2),
    }


def test_a_new_arm_is_owed(tmp_path: Path, again: Again) -> None:
    """An added arm owes all of its trials, and what the other one found is kept."""
    begin(tmp_path)
    path = tmp_path / "run" / "run.toml"
    path.write_text(path.read_text().replace("[limits]", '[[arms]]\nname = "always_halt"\n\n[limits]'))
    with pytest.raises(InputError, match=r"arm always_halt is new.*invalidates no ended trial: 4 are kept"):
        again()
    before = len(lines_of(tmp_path, "scored"))
    assert again(accept_changes=True).summary["conservation"]["scored"] == 8
    assert {line["key"].partition("::")[0] for line in lines_of(tmp_path, "scored")[before:]} == {"always_halt"}


def test_a_run_toml_changed_by_hand_is_seen(tmp_path: Path, again: Again) -> None:
    """The manifest knows what the last session went by, key by key; without it the journal knows that it was other."""
    begin(tmp_path)
    path = tmp_path / "run" / "run.toml"
    path.write_text(path.read_text().replace("seed = 0", "seed = 7"))
    with pytest.raises(InputError, match=r"run\.seed was 0 and would be 7"):
        again()
    (tmp_path / "run" / "manifest.json").unlink()
    with pytest.raises(InputError, match="or the run's seed"):
        again()
    path.write_text(path.read_text().replace("seed = 7", "seed = 0").replace("attempts = 1", "attempts = 2"))
    with pytest.raises(InputError, match=r"run\.toml that results depend on"):
        again()
    path.write_text(path.read_text().replace("attempts = 2", "attempts = 1").replace("trials = 2", "trials = 1"))
    with pytest.raises(InputError, match="trials beyond that have ended"):
        again()


def test_changed_code_is_seen(tmp_path: Path, again: Again) -> None:
    """A provider whose file has changed since is another plan; accepted, everything is run again."""
    (tmp_path / "recoded_provider.py").write_text(FICKLE.replace("payload.seed == 1", "False"))
    begin(tmp_path, "recoded_provider:Fickle")
    path = tmp_path / "recoded_provider.py"
    path.write_text(path.read_text() + "# changed\n")
    with pytest.raises(InputError, match=r"the provider \(its code\) has changed.*invalidates 4 ended trials"):
        again()
    again(accept_changes=True)
    assert len(lines_of(tmp_path, "reopened")) == 4


def test_a_reopening_that_was_broken_off_is_made_up_for(tmp_path: Path, again: Again) -> None:
    """A session that died before it had reopened everything is made up for by the next, with nothing to accept."""
    begin(tmp_path)
    again(sets=["engine.deadline_s=5"], accept_changes=True)
    journal = tmp_path / "run" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    cut = next(place for place, line in enumerate(lines) if b'"type":"reopened"' in line) + 1
    journal.write_bytes(b"".join(lines[:cut]))
    assert again().summary["conservation"]["scored"] == 4
    assert len({line["key"] for line in lines_of(tmp_path, "reopened")}) == 4
