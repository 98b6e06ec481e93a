"""What the tests of providers share: driving a coroutine that must not wait, and judging a fixture."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import orjson
import pytest

from oracle.effect import judge
from providers.mockmed import MockMed
from spec.contract import resolve
from spec.reading import TrueState
from spec.task import Task

T = TypeVar("T")


def run_to_end(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that must not suspend."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the coroutine waited for something")


class Session:
    """One open trial, with the calls of an agent and the judgement of its record."""

    def __init__(self, provider: MockMed, task: Task, trial: int = 0) -> None:
        self.provider, self.task = provider, task
        self.payload = provider.payload(task, trial, run_seed=0)
        self.fixture = run_to_end(provider.open(task, self.payload))
        self.goal = task.goal.format_map(self.payload.params)
        self.note = self.payload.params["note"]
        self._before = orjson.loads(self.fixture.snapshot())

    def call(self, tool: str, **arguments: Any) -> Any:
        return run_to_end(self.fixture.environment.call(tool, arguments))

    def act(self) -> Any:
        return run_to_end(self.fixture.environment.attempt_intended_action())

    def rows(self) -> list[dict[str, Any]]:
        tables = orjson.loads(self.fixture.snapshot())
        assert list(tables) == ["encounters"]
        rows: list[dict[str, Any]] = tables["encounters"]
        return rows

    def state(self) -> TrueState:
        contract = resolve(self.task.contract, self.payload.params)
        return judge(contract, self.provider.schema, self._before, {"encounters": self.rows()}).state


OpenSession = Callable[[str], Session]


@pytest.fixture(scope="session")
def finish() -> Callable[..., Any]:
    return run_to_end


@pytest.fixture(scope="session")
def session() -> OpenSession:
    """Open a task of either pack by its id."""

    def opened(task_id: str) -> Session:
        pack = "anchor" if task_id.startswith("mockmed::") else "full"
        provider = MockMed(pack=pack, split="all")
        return Session(provider, next(task for task in provider.tasks() if task.task_id == task_id))

    return opened
