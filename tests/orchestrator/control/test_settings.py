"""What may be set while a run works."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.control.settings import LIVE_KEYS, store_setting
from orchestrator.stored import load_run_config
from spec.errors import ConfigError, ConfigErrors


@pytest.mark.parametrize("key", [*LIVE_KEYS, "arms.screen_only.in_flight"])
def test_a_live_key_is_checked_and_kept(run_dir: Path, key: str) -> None:
    """The value stands in run.toml afterwards, where a resume finds it, with everything else as before."""
    before = load_run_config(run_dir, {}).config.written()
    setting = store_setting(run_dir, {}, f"{key}=7")
    assert (setting.key, setting.new) == (key, 7)
    assert setting.old != 7
    after = load_run_config(run_dir, {}).config.written()
    changed = [name for name in before if before[name] != after[name]]
    assert changed == [key.partition(".")[0]]
    assert store_setting(run_dir, {}, f"{key}={setting.old}").old == 7
    assert load_run_config(run_dir, {}).config.written() == before


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("run.trials=3", "resume"),
        ("engine.workers=2", "resume"),
        ("engine={in_flight=3}", "resume"),
        ("arms.screen_only={name='screen_only', in_flight=3}", "resume"),
        ("oracle.read_attempts=2", "resume"),
        ("run.seed=1", "new run"),
        ("engine.deadline_s=1", "new run"),
        ("arms.screen_only.deadline_s=3", "new run"),
        ("provider.pack=full", "new run"),
    ],
)
def test_another_key_is_refused_with_what_to_do(run_dir: Path, text: str, hint: str) -> None:
    """A free key that is not live waits for a resume; one that results depend on, for a new run."""
    before = (run_dir / "run.toml").read_bytes()
    with pytest.raises(ConfigError) as caught:
        store_setting(run_dir, {}, text)
    assert hint in caught.value.hint
    assert caught.value.key == text.partition("=")[0]
    assert (run_dir / "run.toml").read_bytes() == before


@pytest.mark.parametrize("text", ["engine.in_flight=0", "engine.inflight=3", "arms.none.in_flight=3", "", "in_flight"])
def test_what_a_configuration_may_not_hold_is_refused(run_dir: Path, text: str) -> None:
    """The checks are those of ``--set``."""
    before = (run_dir / "run.toml").read_bytes()
    with pytest.raises(ConfigErrors):
        store_setting(run_dir, {}, text)
    assert (run_dir / "run.toml").read_bytes() == before
