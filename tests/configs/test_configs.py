from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest

import orchestrator
from arms.base import ArmTask
from arms.environment import Environment, bind_environment
from arms.loading import instantiate
from orchestrator.config import choose_tasks, load_config
from orchestrator.plugins import call_factory, resolve_all
from spec.report import AgentReport

CONFIGS = Path(orchestrator.__file__).parent.parent / "configs"
SHAPES = {
    "reference": (9, ["screen_only", "effect_verified"], 10),
    "full": (20, ["screen_only", "effect_verified", "always_halt", "retry_on_error"], 3),
    "big": (20, ["screen_only", "effect_verified", "always_halt", "retry_on_error"], 100),
    "ladder": (10, ["screen", "effect_rest", "effect_full"], 9),
    "ladder-postgres": (10, ["screen", "effect_rest", "effect_full"], 9),
    "variants": (20, ["screen_only", "effect_verified"], 5),
    "generated": (100, ["screen_only", "effect_verified"], 2),
    "tickets": (6, ["screen_only", "retry_on_error", "always_halt"], 3),
    "invoices": (5, ["screen_only", "always_halt"], 3),
    "own-agent": (14, ["screen_only", "own_agent"], 3),
}


@pytest.fixture(scope="module")
def own_agent() -> ModuleType:
    """The worked example, under a name of its own."""
    spec = importlib.util.spec_from_file_location("worked_example", CONFIGS / "own_agent.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def provider_of(name: str) -> tuple[Any, Any, Any]:
    loaded = load_config(CONFIGS / f"{name}.toml", environ={})
    found, table = resolve_all(loaded), loaded.config.provider
    made = call_factory(found.provider, pack=table.pack, split=table.split, options=table.options, folder=loaded.folder)
    return loaded, found, made


@pytest.mark.parametrize("name", SHAPES)
def test_a_shipped_configuration_plans_what_it_says(name: str) -> None:
    """Tasks, arms and trials are those that its first lines promise, and each arm takes its options."""
    loaded, found, provider = provider_of(name)
    tasks = choose_tasks(loaded, [task.task_id for task in provider.tasks()]).task_ids
    assert (len(tasks), list(found.arms), loaded.config.run.trials) == SHAPES[name]
    for arm in loaded.config.arms:
        instantiate(found.arms[arm.name], arm.options)


async def reports(arm: Any, provider: Any) -> dict[str, AgentReport]:
    answers = {}
    for task in provider.tasks():
        payload = provider.payload(task, 0, 0)
        fixture = await provider.open(task, payload)
        bind_environment(fixture.environment)
        goal = task.goal.format(**payload.params)
        answers[task.task_id] = await arm(
            ArmTask(goal, payload.params, fixture.environment.tools, payload.seed, 30.0), Environment()
        )
        await fixture.close()
    bind_environment(None)
    return answers


def test_the_worked_example_works_every_task(own_agent: ModuleType) -> None:
    """It never raises, claims success where the banner does, halts where two patients fit, and says why."""
    _, _, provider = provider_of("full")
    answers = anyio.run(reports, own_agent.CarefulClerk(), provider)
    assert len(answers) == 20
    halted = [task_id for task_id, report in answers.items() if report.halted]
    assert halted == ["mockmed_ctl_refuse_ambiguous"]
    failed = {task_id for task_id, report in answers.items() if not report.reported_success}
    assert failed - set(halted) == {"mockmed_c3_session_expired", "mockmed_c3_timeout_false_abort"}
    assert all(report.message for report in answers.values())


def test_the_worked_example_stops_at_a_goal_it_does_not_know(own_agent: ModuleType) -> None:
    """It halts instead of guessing."""
    task = ArmTask("Do something else", {}, (), 0, 30.0)
    report = anyio.run(own_agent.CarefulClerk(), task, Environment())
    assert (report.reported_success, report.halted) == (False, True)


def test_comments_on_figures_are_true() -> None:
    """The number of trials that big.toml announces is tasks x arms x trials."""
    text = (CONFIGS / "big.toml").read_text(encoding="utf-8")
    said = re.search(r"(\d+) tasks x (\d+) arms x (\d+) trials = ([\d,]+)", text)
    assert said is not None
    tasks, arms, trials = SHAPES["big"][0], len(SHAPES["big"][1]), SHAPES["big"][2]
    assert [int(part.replace(",", "")) for part in said.groups()] == [tasks, arms, trials, tasks * arms * trials]
