"""Resume: what is owed, and only that, from the run's own configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from orchestrator.config import load_config
from orchestrator.ledger import Ledger, Standing
from orchestrator.manifest import read_manifest
from orchestrator.plan import Plan
from orchestrator.resume import owed_again, resume
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
    assert types(tmp_path)[len(before) :] == ["resume", "end", "commit"]
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


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("run.trials=1", "run.trials was 2 and would be 1"),
        ("engine.deadline_s=5", "engine.deadline_s"),
        ('provider.tasks=["mockmed::ok"]', "provider.tasks"),
        ("arms.screen_only.use=always_halt", "arms.screen_only.use"),
    ],
)
@pytest.mark.parametrize("accept_changes", [False, True])
def test_gated_keys_may_not(tmp_path: Path, again: Again, change: str, named: str, accept_changes: bool) -> None:
    """What results depend on is named and refused, accepted or not, and nothing is written."""
    begin(tmp_path)
    before = types(tmp_path)
    with pytest.raises(InputError, match="Mixing the rows of two plans is not possible") as caught:
        again(sets=[change], accept_changes=accept_changes)
    assert named in str(caught.value)
    assert types(tmp_path) == before


def test_a_run_toml_changed_by_hand_is_seen(tmp_path: Path, again: Again) -> None:
    """The journal's head knows what the run began with, whatever the run's own file says now."""
    begin(tmp_path)
    path = tmp_path / "run" / "run.toml"
    path.write_text(path.read_text().replace("seed = 0", "seed = 7"))
    with pytest.raises(InputError, match=r"run\.toml that results depend on"):
        again()


def test_changed_code_is_seen(tmp_path: Path, again: Again) -> None:
    """A provider whose file has changed since is another plan."""
    (tmp_path / "recoded_provider.py").write_text(FICKLE)
    begin(tmp_path, "recoded_provider:Fickle")
    (tmp_path / "recoded_provider.py").write_text(FICKLE + "# changed\n")
    with pytest.raises(InputError, match=r"the provider .* has changed"):
        again()


def test_only_what_was_asked_is_owed_again() -> None:
    """Scored trials never are; each word brings back its own."""
    ledger = Ledger(Plan(["a", "b"], ["x"], 2))
    for ordinal, standing in enumerate((Standing.SCORED, Standing.UNREADABLE, Standing.INFRASTRUCTURE)):
        ledger.ended(ordinal, standing, 0)
    assert owed_again(ledger, []) == []
    assert owed_again(ledger, ["unreadable"]) == [1]
    assert owed_again(ledger, ["unreadable", "infrastructure"]) == [1, 2]
    with pytest.raises(InputError, match="'scored' cannot be owed again"):
        owed_again(ledger, ["scored"])
