"""What a worker says travels as JSON and comes out the same; anything else is refused."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.messages import Cause, Failed, Finished, Noted, Opened, Returned, Settled, WorkerEvent
from spec.reading import ReadPath
from spec.report import ArmFault
from spec.wire import decode_events, encode_events

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
counts = st.integers(0, 2**53)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, json_values, max_size=4)
seconds = st.floats(0, 1e6)

events = st.one_of(
    st.builds(Opened, counts, counts, st.builds(ReadPath, texts, st.booleans(), objects)),
    st.builds(Finished, counts, counts, objects, st.none() | st.sampled_from(ArmFault), texts, texts, texts, seconds),
    st.builds(Failed, counts, counts, st.sampled_from(Cause), texts),
    st.builds(Returned, counts, counts),
    st.builds(Settled, st.integers(1, 2**40)),
    st.builds(Noted, texts),
)


@given(st.lists(events, max_size=8))
def test_every_event_comes_out_as_it_went_in(batch: list[WorkerEvent]) -> None:
    """Values and types survive the way, enums included."""
    decoded = decode_events(encode_events(batch))
    assert decoded == batch
    assert [type(event) for event in decoded] == [type(event) for event in batch]
    for event in decoded:
        if isinstance(event, Finished) and event.fault is not None:
            assert type(event.fault) is ArmFault
        if isinstance(event, Failed):
            assert type(event.cause) is Cause
        if isinstance(event, Opened):
            assert type(event.read_path) is ReadPath


GOOD: dict[str, list[Any]] = {
    "opened": [0, 1, 1, ["snapshot", True, {}]],
    "finished": [1, 1, 1, {}, None, "", "a", "b", 0.5],
    "failed": [2, 1, 1, "provider", "why"],
    "returned": [3, 1, 1],
    "noted": [4, "text"],
}


@pytest.mark.parametrize("message", GOOD.values(), ids=GOOD)
def test_a_message_that_is_right_is_taken(message: list[Any]) -> None:
    """The messages that the refusals below are made from are right themselves."""
    assert len(decode_events(orjson.dumps([message]))) == 1


@pytest.mark.parametrize("message", GOOD.values(), ids=GOOD)
def test_a_field_more_or_less_is_refused(message: list[Any]) -> None:
    """No event is taken with a field too many or too few."""
    for wrong in (message[:-1], [*message, 0], []):
        with pytest.raises(ValueError):
            decode_events(orjson.dumps([wrong]))


@pytest.mark.parametrize("message", GOOD.values(), ids=GOOD)
def test_a_field_of_another_type_is_refused(message: list[Any]) -> None:
    """An event whose ordinal is a text, say, would go wrong far from where it came in."""
    for place in range(len(message)):
        wrong = [*message[:place], [["neither"]], *message[place + 1 :]]
        with pytest.raises(ValueError):
            decode_events(orjson.dumps([wrong]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"{}",
        b'"text"',
        b"5",
        b"null",
        b"[5]",
        b"[[]]",
        b'[["a"]]',
        b'[[-1,"text"]]',
        b'[[5,"text"]]',
        b"[[true,1,1]]",
        b'[[2,1,1,"no cause",""]]',
        b'[[1,1,1,{},"no fault","","a","b",0.5]]',
        b'[[0,1,1,["snapshot",true]]]',
        b"[" * 5000,
        pickle.dumps([Returned(1, 1)]),
    ],
    ids=repr,
)
def test_bytes_that_are_no_events_are_refused(data: bytes) -> None:
    """Whatever comes is events or a ValueError."""
    with pytest.raises(ValueError):
        decode_events(data)


@given(st.binary(max_size=60) | json_values.map(orjson.dumps))
def test_nothing_but_a_value_error_comes_out_of_wrong_bytes(data: bytes) -> None:
    """No input makes the decoder fail in another way."""
    with contextlib.suppress(ValueError):
        assert all(isinstance(event, tuple) for event in decode_events(data))
