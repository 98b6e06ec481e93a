"""A blocking arm in a thread of its own meets the same environment through plain methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import pytest
from anyio import to_thread

from arms.environment import bind_environment
from arms.sync import SyncEnvironment, SyncVerifier
from providers.mockmed import MockMed
from spec.environment import Screen, ToolError
from spec.reading import Verdict

T = TypeVar("T")


def in_thread(task_id: str, arm: Callable[[SyncEnvironment], T]) -> T:
    """What ``arm`` returns from a thread beside the loop in which a fixture is open."""
    provider = MockMed(pack="full")
    task = next(task for task in provider.tasks() if task.task_id == task_id)

    async def trial() -> T:
        fixture = await provider.open(task, provider.payload(task, 0, 0))
        bind_environment(fixture.environment)
        return await to_thread.run_sync(arm, SyncEnvironment())

    return anyio.run(trial)


def test_it_acts_and_verifies() -> None:
    """Snapshot, action and verification reach the trial's fixture from the thread."""

    def arm(environment: SyncEnvironment) -> tuple[Screen, Verdict]:
        verifier = environment.verifier
        assert verifier is not None
        verifier.snapshot()
        return environment.attempt_intended_action(), verifier.verify()

    screen, verdict = in_thread("mockmed_ctl_clean_save", arm)
    assert screen.saved
    assert verdict is Verdict.CONFIRMED


def test_it_calls_tools_in_both_forms() -> None:
    """A tool answers the same whether its arguments come by name or as a mapping."""

    def arm(environment: SyncEnvironment) -> tuple[object, object]:
        by_name = environment.call("find_patients", name="Ferrow")
        return by_name, environment.call_with("find_patients", {"name": "Ferrow"})

    by_name, by_mapping = in_thread("mockmed_ctl_clean_save", arm)
    assert by_name == by_mapping
    assert by_name


def test_a_wrong_call_is_refused_in_the_thread() -> None:
    """The refusal crosses from the loop to the thread as the same error."""

    def arm(environment: SyncEnvironment) -> str:
        with pytest.raises(ToolError) as caught:
            environment.call("fly")
        return str(caught.value)

    assert "there is no tool 'fly'" in in_thread("mockmed_ctl_clean_save", arm)


def test_an_undeclared_task_has_no_verifier() -> None:
    """Where the product has no verifier there is none to take, and one made by hand refuses."""

    def arm(environment: SyncEnvironment) -> bool:
        with pytest.raises(ToolError, match="has no verifier"):
            SyncVerifier().verify()
        return environment.verifier is None

    assert in_thread("mockmed_c1_partial_undeclared", arm)
