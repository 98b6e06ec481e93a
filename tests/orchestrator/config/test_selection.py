from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from orchestrator.config import LoadedConfig, choose_tasks
from spec.errors import ConfigError

Load = Callable[..., LoadedConfig]

TASKS = ("m_c1_a", "m_c1_b", "m_c2_a", "m_c2_[x]")
ARM = '[[arms]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("globs", "tasks", "limit", "chosen"),
    [
        ("[]", [], None, TASKS),
        ('["m_c2*", "m_c1_a"]', [], None, ("m_c1_a", "m_c2_a", "m_c2_[x]")),
        ("[]", ["*_a"], None, ("m_c1_a", "m_c2_a")),
        ('["m_c1*"]', ["*_a"], None, ("m_c1_a",)),
        ("[]", [], 2, ("m_c1_a", "m_c1_b")),
        ("[]", ["m_c2*"], 9, ("m_c2_a", "m_c2_[x]")),
    ],
)
def test_a_run_is_narrowed_to_tasks(
    load: Load, globs: str, tasks: list[str], limit: int | None, chosen: tuple[str, ...]
) -> None:
    """The file's globs, then --task, then the first of --limit; always in the pack's order."""
    found = choose_tasks(load(f"provider.tasks = {globs}\n" + ARM, tasks=tasks, limit=limit), TASKS)
    assert found.task_ids == chosen


def test_a_narrowed_run_resumes_with_the_same_tasks(load: Load) -> None:
    """The effective file names exactly the chosen tasks, even where an id looks like a glob."""
    first = choose_tasks(load(ARM, tasks=["m_c2*"], limit=5), TASKS)
    assert tomllib.loads(first.loaded.effective_toml)["provider"]["tasks"] == ["m_c2_a", "m_c2_[[]x]"]
    again = choose_tasks(load(first.loaded.effective_toml), TASKS)
    assert again.task_ids == first.task_ids
    assert again.loaded.config == first.loaded.config


def test_a_glob_that_matches_nothing_is_named(load: Load) -> None:
    """Every glob has to match; the nearest task is named."""
    with pytest.raises(ConfigError, match=r"run.toml:1: provider.tasks\[1\]: matches no task .*did you mean 'm_c1_"):
        choose_tasks(load('provider.tasks = ["m_c2*", "m_c1_"]\n' + ARM), TASKS)
    with pytest.raises(ConfigError, match="--task 'q' matches no task"):
        choose_tasks(load(ARM, tasks=["q"]), TASKS)
    with pytest.raises(ConfigError, match="has no task"):
        choose_tasks(load(ARM), ())


def test_a_run_has_a_bound(load: Load) -> None:
    """Tasks x arms x trials is bounded before anything is planned."""
    with pytest.raises(ConfigError, match="4 tasks x 1 arms x 1000000000 trials are over 1000000000"):
        choose_tasks(load("run.trials = 1000000000\n" + ARM), TASKS)
