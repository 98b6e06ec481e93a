"""What travels between driver, workers and oracles is frozen, names its attempt, and survives pickling."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import pytest

from spec import messages
from spec.messages import (
    Cause,
    Failed,
    Finished,
    Judged,
    Noted,
    Opened,
    OracleEvent,
    OracleOrders,
    ReadAfter,
    ReadBefore,
    Ready,
    Returned,
    Settled,
    Unread,
    WorkerEvent,
    WorkerOrders,
)
from spec.reading import ReadPath
from spec.report import ArmFault
from spec.trial import Trial

PATH = ReadPath("snapshot", True, {"worker": "w", "fixture": 1})
EVERY: list[tuple[Any, ...]] = [
    WorkerOrders([Trial(0, "a::t::t0", "t", "a", 0, 0, {"note": "x"}, 1)], [1], [2], {"a": 3}, True),
    Opened(1, 2, PATH),
    Finished(1, 2, {"reported_success": True}, ArmFault.TIMEOUT, "late", "begun", "ended", 0.5),
    Failed(1, 2, Cause.PROVIDER, "why"),
    Returned(1, 2),
    Noted("text"),
    Settled(7),
    OracleOrders([ReadBefore(1, 2, "a::t::t0", "t", {}, PATH)], [ReadAfter(1, 2, {})], [3]),
    Ready(1, 2),
    Judged(1, 2, 3, True, "read", {"state": "correct"}, None),
    Unread(1, 2, 3, "why"),
]


@pytest.mark.parametrize("message", EVERY, ids=lambda message: type(message).__name__)
def test_a_message_survives_pickling(message: tuple[Any, ...]) -> None:
    """What goes to an actor and back is equal, type by type."""
    copy = pickle.loads(pickle.dumps(message))
    assert copy == message
    assert type(copy) is type(message)


def test_every_event_about_a_trial_names_it_and_its_attempt() -> None:
    """So a late answer of an old attempt can be told from the current one."""
    for event in (*get_args(WorkerEvent), *get_args(OracleEvent)):
        if event not in (Noted, Settled):
            assert event._fields[:2] == ("ordinal", "attempt"), event


def test_orders_ask_for_nothing_unless_told() -> None:
    """Empty orders leave everything as it is."""
    assert WorkerOrders() == ((), (), (), None, False, 0)
    assert OracleOrders() == ((), (), ())


def test_every_message_is_covered_here() -> None:
    """A message that is added to the module has to be added above."""
    defined = {
        thing
        for thing in vars(messages).values()
        if isinstance(thing, type) and issubclass(thing, tuple) and thing.__module__ == messages.__name__
    }
    assert defined == {type(message) for message in EVERY} | {ReadBefore, ReadAfter}


def test_causes_have_the_names_that_journals_hold() -> None:
    """The closed list of why an attempt came to no reading."""
    assert [cause.value for cause in Cause] == [
        "provider",
        "unreadable",
        "worker_lost",
        "oracle_lost",
        "killed_worker",
        "stopped",
        "internal",
    ]
