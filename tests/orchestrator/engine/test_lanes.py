"""Ready trials start by arm, in turn, and never beyond their arm's permits."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.lanes import Lanes

ARMS = ("a", "b", "c")


class Ready(NamedTuple):
    arm: str
    number: int


def drain(lanes: Lanes[Ready]) -> list[Ready]:
    taken = []
    while (trial := lanes.take()) is not None:
        taken.append(trial)
    return taken


def test_nothing_starts_without_a_permit() -> None:
    """A lane has no permits until it is told of some."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    lanes.add(Ready("a", 0))
    assert lanes.take() is None
    lanes.allow({"a": 1})
    assert lanes.take() == Ready("a", 0)


def test_lanes_take_turns() -> None:
    """An arm with many ready trials does not keep the others waiting."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    lanes.allow(dict.fromkeys(ARMS, 10))
    for number in range(3):
        lanes.add(Ready("a", number))
    lanes.add(Ready("b", 0))
    lanes.add(Ready("c", 0))
    assert [trial.arm for trial in drain(lanes)] == ["a", "b", "c", "a", "a"]


def test_a_lane_that_is_full_waits_for_an_end() -> None:
    """A trial that ends lets exactly one more of its arm start."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    lanes.allow({"a": 2})
    for number in range(4):
        lanes.add(Ready("a", number))
    assert [trial.number for trial in drain(lanes)] == [0, 1]
    lanes.done("a")
    assert [trial.number for trial in drain(lanes)] == [2]


def test_fewer_permits_stop_nobody_who_runs() -> None:
    """Where permits shrink below what runs, the next one starts only when enough have ended."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    lanes.allow({"a": 3})
    for number in range(4):
        lanes.add(Ready("a", number))
    assert len(drain(lanes)) == 3
    lanes.allow({"a": 1})
    lanes.done("a")
    lanes.done("a")
    assert drain(lanes) == []
    lanes.done("a")
    assert [trial.number for trial in drain(lanes)] == [3]


def test_what_has_not_started_can_be_taken_back() -> None:
    """Clearing gives back exactly the waiting trials, once."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    lanes.allow({"a": 1})
    for number in range(3):
        lanes.add(Ready("a", number))
    lanes.add(Ready("b", 0))
    assert lanes.take() == Ready("a", 0)
    assert sorted(lanes.clear()) == [Ready("a", 1), Ready("a", 2), Ready("b", 0)]
    assert lanes.clear() == []
    lanes.done("a")
    assert lanes.take() is None


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(ARMS)),
        st.tuples(st.just("take"), st.none()),
        st.tuples(st.just("done"), st.sampled_from(ARMS)),
        st.tuples(st.just("allow"), st.dictionaries(st.sampled_from(ARMS), st.integers(0, 3))),
    ),
    max_size=80,
)


@given(steps)
def test_no_start_goes_beyond_the_permits(steps: list[tuple[str, object]]) -> None:
    """Whatever happens, a trial starts only while fewer of its arm run than may, and in the order of its lane."""
    lanes: Lanes[Ready] = Lanes(ARMS)
    permits, running, waiting = dict.fromkeys(ARMS, 0), dict.fromkeys(ARMS, 0), {arm: list[int]() for arm in ARMS}
    for number, (step, what) in enumerate(steps):
        if step == "add":
            lanes.add(Ready(str(what), number))
            waiting[str(what)].append(number)
        elif step == "done" and running[str(what)]:
            lanes.done(str(what))
            running[str(what)] -= 1
        elif step == "allow" and isinstance(what, dict):
            lanes.allow(what)
            permits.update(what)
        elif step == "take":
            trial = lanes.take()
            may_start = [arm for arm in ARMS if waiting[arm] and running[arm] < permits[arm]]
            assert (trial is None) is (not may_start)
            if trial is not None:
                assert trial.arm in may_start
                assert trial.number == waiting[trial.arm].pop(0)
                running[trial.arm] += 1
