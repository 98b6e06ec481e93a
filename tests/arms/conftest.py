"""What the tests of arms share: driving a coroutine that never waits, and playing one trial on MockMed."""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import orjson
import pytest

from arms.base import ArmTask
from arms.environment import Environment, bind_environment
from oracle.effect import judge
from providers.mockmed import MockMed
from spec.contract import resolve
from spec.outcome import Label, classify
from spec.report import AgentReport
from spec.task import Task

T = TypeVar("T")
Baseline = Callable[[ArmTask, Environment], Awaitable[AgentReport]]
Play = Callable[[MockMed, Task, int, Baseline], tuple[AgentReport, Label]]
Finish = Callable[[Coroutine[Any, Any, Any]], Any]


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that must not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the coroutine waited for something")


async def _trial(provider: MockMed, task: Task, trial: int, arm: Baseline) -> tuple[AgentReport, Label]:
    payload = provider.payload(task, trial, run_seed=99)
    fixture = await provider.open(task, payload)
    before = orjson.loads(fixture.snapshot())
    bind_environment(fixture.environment)
    told = ArmTask(task.goal.format_map(payload.params), payload.params, fixture.environment.tools, payload.seed, 60.0)
    report = await arm(told, Environment())
    fixture.seal()
    after = orjson.loads(fixture.snapshot())
    found = judge(resolve(task.contract, payload.params), provider.schema, before, after)
    available = task.correct_action_available
    label = classify(reported_success=report.reported_success, state=found.state, correct_action_available=available)
    assert label is not None
    await fixture.close()
    return report, label


@pytest.fixture
def finish() -> Finish:
    return run_to_end


@pytest.fixture
def play() -> Play:
    """Run one trial in a context of its own and label it; proves on the way that nothing in it waits."""

    def played(provider: MockMed, task: Task, trial: int, arm: Baseline) -> tuple[AgentReport, Label]:
        return contextvars.copy_context().run(run_to_end, _trial(provider, task, trial, arm))

    return played
