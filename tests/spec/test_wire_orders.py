"""Orders and oracle events travel as JSON and come out the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spec.messages import Judged, OracleEvent, OracleOrders, ReadAfter, ReadBefore, Ready, Unread, WorkerOrders
from spec.reading import ReadPath
from spec.trial import Trial
from spec.wire_orders import (
    decode_oracle_events,
    decode_oracle_orders,
    decode_worker_orders,
    encode_oracle_events,
    encode_oracle_orders,
    encode_worker_orders,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 2**53)
values = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts
objects = st.dictionaries(texts, values | st.lists(values, max_size=2), max_size=3)
paths = st.builds(ReadPath, texts, st.booleans(), objects)
trials = st.builds(Trial, counts, texts, texts, texts, counts, counts, objects, counts)
worker_orders = st.builds(
    WorkerOrders,
    st.lists(trials, max_size=3),
    st.lists(counts, max_size=3),
    st.lists(counts, max_size=3),
    st.none() | st.dictionaries(texts, counts, max_size=3),
    st.booleans(),
    counts,
)
oracle_orders = st.builds(
    OracleOrders,
    st.lists(st.builds(ReadBefore, counts, counts, texts, texts, objects, paths), max_size=3),
    st.lists(st.builds(ReadAfter, counts, counts, objects), max_size=3),
    st.lists(counts, max_size=3),
)
oracle_events = st.one_of(
    st.builds(Ready, counts, counts),
    st.builds(Judged, counts, counts, counts, st.booleans(), texts, objects, st.none() | objects),
    st.builds(Unread, counts, counts, counts, texts),
)


@given(worker_orders)
def test_orders_for_a_worker_come_out_as_they_went_in(orders: WorkerOrders) -> None:
    """Every field survives, and trials are trials again."""
    decoded = decode_worker_orders(encode_worker_orders(orders))
    assert decoded == orders
    assert all(type(trial) is Trial for trial in decoded.lease)


@given(oracle_orders)
def test_orders_for_an_oracle_come_out_as_they_went_in(orders: OracleOrders) -> None:
    """Every field survives, and read paths are read paths again."""
    decoded = decode_oracle_orders(encode_oracle_orders(orders))
    assert decoded == orders
    assert all(type(request.read_path) is ReadPath for request in decoded.before)


@given(st.lists(oracle_events, max_size=4))
def test_what_an_oracle_answers_comes_out_as_it_went_in(events: list[OracleEvent]) -> None:
    """Every field and every type survives."""
    decoded = decode_oracle_events(encode_oracle_events(events))
    assert decoded == events
    assert [type(event) for event in decoded] == [type(event) for event in events]
