"""Keys and places are computed from each other, and what is no key is nobody's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.plan import Cell, Plan
from spec.trial import trial_key

arm_names = st.lists(st.from_regex(r"[a-z0-9_-]{1,8}", fullmatch=True), min_size=1, max_size=5, unique=True)
task_ids = st.lists(st.text(st.sampled_from("ab:t0_ é"), min_size=1, max_size=8), min_size=1, max_size=6, unique=True)
plans = st.builds(Plan, task_ids, arm_names, st.integers(1, 12))


@given(plans)
def test_places_and_keys_go_round(plan: Plan) -> None:
    """Every place has a key of its own, and the key leads back to the place."""
    keys = [plan.key(ordinal) for ordinal in range(len(plan))]
    assert len(set(keys)) == len(keys)
    assert [plan.find(key) for key in keys] == list(range(len(plan)))


@given(plans)
def test_the_order_is_tasks_then_arms_then_trials(plan: Plan) -> None:
    """Plan order is the order of three nested loops, and cell, arm_of and index agree with it."""
    expected = [
        Cell(task, arm, trial)
        for task in range(len(plan.task_ids))
        for arm in range(len(plan.arms))
        for trial in range(plan.trials)
    ]
    assert [plan.cell(ordinal) for ordinal in range(len(plan))] == expected
    assert [plan.arm_of(ordinal) for ordinal in range(len(plan))] == [cell.arm for cell in expected]
    assert [plan.index(*cell) for cell in expected] == list(range(len(plan)))


@given(plans)
def test_the_arms_share_the_plan_out(plan: Plan) -> None:
    """Each place belongs to exactly one arm, and an arm's places come in plan order."""
    by_arm = [list(plan.of_arm(arm)) for arm in range(len(plan.arms))]
    assert sorted(ordinal for of_arm in by_arm for ordinal in of_arm) == list(range(len(plan)))
    assert all(of_arm == sorted(of_arm) for of_arm in by_arm)


@given(plans, st.text(st.sampled_from("ab:t0_-é 1"), max_size=20))
def test_a_text_is_found_only_if_it_is_a_key(plan: Plan, text: str) -> None:
    """Whatever is found has exactly the text as its key."""
    found = plan.find(text)
    keys = {plan.key(ordinal): ordinal for ordinal in range(len(plan))}
    assert found == keys.get(text)


PLAN = Plan(["mockmed::ok", "ok"], ["a", "b"], 11)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a::ok",
        "a::ok::",
        "a::ok::t",
        "a::ok::t11",
        "a::ok::t-1",
        "a::ok::t01",
        "a::ok::t1 ",
        "a::ok::t1.0",
        "a::ok::t٣",
        "a::ok::t²",
        "a::ok::t9999999999999999999999",
        "c::ok::t0",
        "a::nope::t0",
        "A::ok::t0",
        "a:ok::t0",
        "::ok::t0",
        "a::::t0",
        "a::ok::t0::t0",
    ],
)
def test_odd_keys_are_nobodys(text: str) -> None:
    """A text that is almost a key is None, never a neighbour's place and never an error."""
    assert PLAN.find(text) is None


def test_keys_by_hand() -> None:
    """An id with colons of its own is told from its arm."""
    assert len(PLAN) == 44
    assert PLAN.key(0) == trial_key("a", "mockmed::ok", 0) == "a::mockmed::ok::t0"
    assert PLAN.find("b::mockmed::ok::t10") == 21
    assert PLAN.find("b::ok::t10") == 43
    assert PLAN.cell(43) == Cell(task=1, arm=1, trial=10)


def test_two_plans_of_the_same_trials_are_the_same() -> None:
    """Lists and tuples of the same names make the same plan; another order or number does not."""
    plan = Plan(["t0", "t1"], ["a"], 2)
    assert plan.is_same(Plan(("t0", "t1"), ("a",), 2))
    assert not plan.is_same(Plan(["t1", "t0"], ["a"], 2))
    assert not plan.is_same(Plan(["t0", "t1"], ["a"], 3))
    assert not plan.is_same(Plan(["t0", "t1"], ["b"], 2))


FOUND = Plan(["t0", "x::t1"], ["a", "b"], 12)
STRANGE = [
    "a::t0::t12",
    "a::t0::t01",
    "a::t0::t-1",
    "c::t0::t0",
    "a::t0",
    "",
    "a::t0::t\u0661",
    "a::t0::t" + "9" * 5000,
]


@given(st.lists(st.one_of(st.integers(0, len(FOUND) - 1).map(FOUND.key), st.sampled_from(STRANGE)), max_size=30))
def test_many_keys_are_found_as_each_of_them_is(keys: list[str]) -> None:
    """In any order, with keys of no trial in between."""
    assert FOUND.find_all(keys) == [FOUND.find(key) for key in keys]


@given(st.integers(0, len(FOUND)), st.integers(0, len(FOUND)), st.integers(0, len(FOUND)))
def test_keys_in_a_row_are_found(start: int, end: int, without: int) -> None:
    """Keys that follow each other, over tasks and arms, with one of them left out."""
    ordinals = [ordinal for ordinal in range(start, end) if ordinal != without]
    assert FOUND.find_all([FOUND.key(ordinal) for ordinal in ordinals]) == ordinals


def test_numbers_are_found_far_beyond_those_that_are_kept() -> None:
    """A plan of a million trials of one task finds its last one, and none behind it."""
    plan = Plan(["t"], ["a"], 1_000_000)
    assert [plan.find(f"a::t::t{number}") for number in (0, 999_999, 1_000_000)] == [0, 999_999, None]
    assert plan.find("a::t::t0999999") is None
    assert all(FOUND.find(key) is None for key in STRANGE)
