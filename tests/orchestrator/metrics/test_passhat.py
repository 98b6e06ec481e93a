from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.metrics.passhat import PASS_HAT_KS, TaskTally, pass_hat_k

Trials = dict[str, list[bool]]


def brute_force(tasks: Trials, k: int) -> float:
    """Of all ways to pick k trials of a task, the share in which all succeed; its mean over tasks."""
    shares = []
    for trials in tasks.values():
        picks = list(combinations(trials, k))
        shares.append(sum(all(pick) for pick in picks) / len(picks))
    return sum(shares) / len(shares)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=3), st.lists(st.booleans(), min_size=8, max_size=10), min_size=1, max_size=4
    )
)
def test_it_equals_counting_every_pick(tasks: Trials) -> None:
    """pass^k is the share of picks of k trials that all succeed, averaged over tasks."""
    found = pass_hat_k({name: TaskTally(len(trials), sum(trials)) for name, trials in tasks.items()})
    assert found.reasons == {}
    assert list(found.values) == [str(k) for k in PASS_HAT_KS]
    for k in PASS_HAT_KS:
        assert found.values[str(k)] == pytest.approx(brute_force(tasks, k), abs=1e-12)


def test_a_task_with_too_few_trials_makes_the_value_null_with_its_reason() -> None:
    """Three trials of one task give pass^1 and pass^2, and null for 4 and 8 with the task named; none is left out."""
    found = pass_hat_k({"long": TaskTally(10, 10), "short": TaskTally(3, 3)})
    assert found.values == {"1": 1.0, "2": 1.0, "4": None, "8": None}
    assert found.reasons == {
        "4": "1 of 2 tasks have fewer than 4 scored trials, such as short with 3",
        "8": "1 of 2 tasks have fewer than 8 scored trials, such as short with 3",
    }


def test_a_planned_task_without_a_scored_trial_counts_as_too_few() -> None:
    """A task that was never scored makes every value null."""
    assert set(pass_hat_k({"a": TaskTally(8, 8), "b": TaskTally(0, 0)}).values.values()) == {None}


def test_without_tasks_there_is_no_value() -> None:
    """An empty plan has no pass^k, and says so."""
    found = pass_hat_k({})
    assert set(found.values.values()) == {None}
    assert found.reasons["1"] == "no task was planned"
