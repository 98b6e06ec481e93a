"""Which of a provider's tasks run: the file's globs, then what the command line leaves of them."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from orchestrator.config.load import LoadedConfig, Narrowing
from orchestrator.config.model import TRIALS_MAX
from orchestrator.config.rules import nearest
from spec.errors import ConfigError


class Chosen(NamedTuple):
    """The tasks that run.

    Attributes:
        loaded: the configuration, whose ``provider.tasks`` names exactly these if the command line narrowed them.
        task_ids: in the pack's order.
    """

    loaded: LoadedConfig
    task_ids: tuple[str, ...]


def choose_tasks(loaded: LoadedConfig, task_ids: Sequence[str]) -> Chosen:
    """Choose from all tasks of the configured pack and split.

    A task runs if it matches one of ``provider.tasks`` (or there are none) and one of ``--task`` (or there are
    none); ``--limit N`` keeps the first N of those. A narrowed choice is written into the configuration as it came
    out, so that a resumed run has the same tasks.

    Raises:
        ConfigError: a glob matches nothing, no task is left, or the run would have too many trials.
    """
    config, narrowing = loaded.config, loaded.narrowing
    for place, pattern in enumerate(config.provider.tasks):
        if not any(fnmatchcase(task_id, pattern) for task_id in task_ids):
            hint = nearest(pattern, list(task_ids[:40]))
            raise loaded.error(("provider", "tasks", place), "matches no task of this pack and split", hint)
    chosen = [task_id for task_id in task_ids if _matches(task_id, config.provider.tasks)]
    for pattern in narrowing.tasks:
        if not any(fnmatchcase(task_id, pattern) for task_id in chosen):
            raise ConfigError(f"--task {pattern!a} matches no task", hint=nearest(pattern, chosen[:40]))
    chosen = [task_id for task_id in chosen if _matches(task_id, narrowing.tasks)][: narrowing.limit]
    if not chosen:
        raise loaded.error(("provider", "split"), "this pack and split has no task")
    total = len(chosen) * len(config.arms) * config.run.trials
    if total > TRIALS_MAX:
        message = f"{len(chosen)} tasks x {len(config.arms)} arms x {config.run.trials} trials are over {TRIALS_MAX}"
        raise loaded.error(("run", "trials"), message)
    return Chosen(_pinned(loaded, chosen), tuple(chosen))


def _matches(task_id: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(task_id, pattern) for pattern in patterns)


def _pinned(loaded: LoadedConfig, chosen: Sequence[str]) -> LoadedConfig:
    """The configuration with a narrowed choice written out."""
    if loaded.narrowing == Narrowing():
        return loaded
    exact = tuple(glob.escape(task_id) for task_id in chosen)
    provider = loaded.config.provider.model_copy(update={"tasks": exact})
    return loaded.with_config(loaded.config.model_copy(update={"provider": provider}), narrowing=Narrowing())
