"""An outlook says what a resume would do, and does nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config import load_config
from orchestrator.ledger import Ledger, Standing
from orchestrator.outlook import ArmOutlook, Outlook, look_ahead, owed_again
from orchestrator.plan import Plan
from orchestrator.session import run
from spec.errors import InputError

CONFIG = """\
format = 1
[run]
trials = 2
[engine]
kind = "inline"
[provider]
tasks = ["mockmed::ok", "mockmed::partial"]
[[arms]]
name = "screen_only"
[[arms]]
name = "halts"
use = "always_halt"
"""

Ahead = Callable[..., Outlook]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; nobody changes it."""
    folder = tmp_path_factory.mktemp("outlook")
    (folder / "config.toml").write_text(CONFIG)
    run(load_config(folder / "config.toml", environ={}), run_dir=folder / "run")
    return folder / "run"


@pytest.fixture
def ahead(finished: Path) -> Ahead:
    """The outlook of that run, which must not change a byte of it."""

    def call(*sets: str, **options: Any) -> Outlook:
        before = {path: path.read_bytes() for path in finished.iterdir()}
        outlook = look_ahead(finished, {}, sets=sets, **options)
        assert {path: path.read_bytes() for path in finished.iterdir()} == before
        return outlook

    return call


def test_without_a_change_everything_is_kept(ahead: Ahead) -> None:
    """Nothing has changed, nothing is owed, nothing is to be accepted."""
    outlook = ahead()
    assert (outlook.changed, outlook.changes, outlook.reopen) == ((), (), {})
    assert outlook.arms() == {arm: ArmOutlook(4, 4, 0, 0, 0, 0, ()) for arm in ("screen_only", "halts")}


def test_more_trials_are_owed_and_free(ahead: Ahead) -> None:
    """Raised trials need nobody's consent, keep every row and owe the new ones."""
    outlook = ahead("run.trials=5")
    assert outlook.changed == ()
    assert [change.key for change in outlook.changes] == ["run.trials"]
    assert outlook.arms()["halts"] == ArmOutlook(10, 4, 0, 0, 6, 0, ())


def test_a_changed_arm_invalidates_its_own_trials(ahead: Ahead) -> None:
    """One arm's deadline: its four trials are others now, with some of their keys; the other arm's are kept."""
    outlook = ahead("arms.halts.deadline_s=9")
    assert outlook.changed == ("arms.halts.deadline_s was 0.0 and would be 9.0", "arm halts has changed (its deadline)")
    assert [change.key for change in outlook.changes] == ["arms.halts.deadline_s", "parts.arms.halts"]
    assert set(outlook.reopen.values()) == {"changed"}
    keys = ("halts::mockmed::ok::t0", "halts::mockmed::ok::t1", "halts::mockmed::partial::t0")
    assert outlook.arms()["halts"] == ArmOutlook(4, 0, 4, 0, 4, 0, keys)
    assert outlook.arms()["screen_only"] == ArmOutlook(4, 4, 0, 0, 0, 0, ())


def test_the_deadline_of_the_engine_is_that_of_arms_without_one(ahead: Ahead) -> None:
    """An arm that takes the engine's deadline changes with it."""
    assert ahead("engine.deadline_s=7").changed[1:] == (
        "arm screen_only has changed (its deadline)",
        "arm halts has changed (its deadline)",
    )


def test_what_is_no_longer_planned_is_counted(ahead: Ahead) -> None:
    """Fewer trials or tasks: what had ended of them is told apart, arm by arm."""
    assert ahead("run.trials=1").arms()["halts"] == ArmOutlook(2, 2, 0, 0, 0, 2, ())
    outlook = ahead('provider.tasks=["mockmed::ok"]')
    assert "task mockmed::partial is gone" in outlook.changed
    assert outlook.arms()["screen_only"] == ArmOutlook(2, 2, 0, 0, 0, 2, ())


def test_an_arm_that_is_gone_is_named(finished: Path, ahead: Ahead) -> None:
    """Its trials are planned no longer; what had ended of them is counted under its name."""
    path, text = finished / "run.toml", (finished / "run.toml").read_text()
    start, end = text.index('[[arms]]\nname = "halts"'), text.index("[limits]")
    try:
        path.write_text(text[:start] + text[end:])
        outlook = ahead()
    finally:
        path.write_text(text)
    assert "arm halts is gone" in outlook.changed
    assert outlook.arms() == {
        "screen_only": ArmOutlook(4, 4, 0, 0, 0, 0, ()),
        "halts": ArmOutlook(0, 0, 0, 0, 0, 4, ()),
    }


def test_a_renewed_credential_changes_nothing(tmp_path: Path) -> None:
    """An option is compared as it is written: another value of its environment variable keeps every trial."""
    (tmp_path / "keyed_agent.py").write_text(
        "class Agent:\n    def __init__(self, key):\n        self.key = key\n"
        "    async def __call__(self, task, environment):\n        return {'reported_success': False}\n"
    )
    own = '[[arms]]\nname = "own"\nuse = "keyed_agent:Agent"\noptions = { key = "${KEYED}" }\n'
    (tmp_path / "config.toml").write_text(CONFIG + own)
    run(load_config(tmp_path / "config.toml", environ={"KEYED": "old"}), run_dir=tmp_path / "run")
    outlook = look_ahead(tmp_path / "run", {"KEYED": "new"})
    assert (outlook.changed, outlook.invalidated) == ((), [])


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
