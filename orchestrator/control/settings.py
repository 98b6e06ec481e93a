"""What may be set while a run works: keys that no result depends on and that take effect at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from orchestrator.config import classify_changes
from orchestrator.config.model import RunConfig
from orchestrator.config.overrides import Override, parse_override
from orchestrator.files import write_atomically
from orchestrator.rundir import RUN_TOML
from orchestrator.stored import load_run_config
from spec.errors import ConfigError

LIVE_KEYS: Final = (
    "engine.in_flight",
    "engine.lease_max",
    "run.drain_s",
    "limits.stall_report_s",
    "limits.heartbeat_s",
    "limits.group_commit_ms",
)
LIVE_ARM_KEY: Final = "in_flight"


class Setting(NamedTuple):
    """A live key with its new value.

    Attributes:
        key: dotted, an arm by its name.
        old: what run.toml said before.
    """

    key: str
    old: int | float
    new: int | float


def store_setting(run_dir: Path, environ: Mapping[str, str], text: str) -> Setting:
    """Check ``key=value`` and write it to the run's run.toml, so that a later resume keeps it.

    Args:
        run_dir: the run directory; its run works.
        environ: environment variables for ``${NAME}``.
        text: as for ``--set``.

    Raises:
        ConfigError: the key cannot be set while a run works.
        ConfigErrors: there is no such key, or the value is none for it.
        JournalUnwritable: the file cannot be written; it is as before.
    """
    before, after = load_run_config(run_dir, environ), load_run_config(run_dir, environ, sets=[text])
    override = parse_override(text)
    assert isinstance(override, Override), "the text was just read"
    key = ".".join(override.names)
    if not is_live(override.names):
        raise _refusal(run_dir, key, gated=bool(classify_changes(before.config, after.config).gated))
    setting = Setting(key, value_of(before.config, override.names), value_of(after.config, override.names))
    write_atomically(run_dir / RUN_TOML, after.effective_toml.encode())
    return setting


def is_live(names: tuple[str, ...]) -> bool:
    """Whether a key takes effect at once."""
    if names[0] == "arms":
        return len(names) == 3 and names[2] == LIVE_ARM_KEY
    return ".".join(names) in LIVE_KEYS


def value_of(config: RunConfig, names: tuple[str, ...]) -> int | float:
    """The value of a live key."""
    table = config.arm(names[1]) if names[0] == "arms" else getattr(config, names[0])
    value: int | float = getattr(table, names[-1])
    return value


def _refusal(run_dir: Path, key: str, *, gated: bool) -> ConfigError:
    if gated:
        hint = f"`resume {run_dir} --set {key}=... --accept-changes` once it has ended, or a new run"
        return ConfigError("results depend on it, so it stays as it is while the run works", key=key, hint=hint)
    live = ", ".join((*LIVE_KEYS, f"arms.NAME.{LIVE_ARM_KEY}"))
    return ConfigError(
        "cannot be set while the run works",
        key=key,
        hint=f"`resume {run_dir} --set {key}=...` once it has ended; while it works: {live}",
    )
