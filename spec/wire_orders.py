"""Orders, and what oracles answer, as JSON bytes: what processes of ours that run no arm code say to each other.

Pickling would do, but costs three times as much for these small values, and this way nothing on any hop is unpickled.
What a worker says is checked more strictly; see ``spec.wire``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from spec.messages import Judged, OracleEvent, OracleOrders, ReadAfter, ReadBefore, Ready, Unread, WorkerOrders
from spec.reading import ReadPath
from spec.trial import Trial

_EVENTS: Final[tuple[type[OracleEvent], ...]] = (Ready, Judged, Unread)
_TAGS: Final = {kind: tag for tag, kind in enumerate(_EVENTS)}


def encode_worker_orders(orders: WorkerOrders) -> bytes:
    """Orders for a worker as one JSON array."""
    lease = [tuple(trial) for trial in orders.lease]
    return orjson.dumps((lease, orders.go, orders.close, orders.permits, orders.halt, orders.settle))


def decode_worker_orders(data: bytes) -> WorkerOrders:
    """The orders of ``encode_worker_orders``."""
    lease, *rest = orjson.loads(data)
    return WorkerOrders([Trial(*fields) for fields in lease], *rest)


def encode_oracle_orders(orders: OracleOrders) -> bytes:
    """Orders for an oracle as one JSON array."""
    before = [(*request[:-1], tuple(request.read_path)) for request in orders.before]
    return orjson.dumps((before, [tuple(request) for request in orders.after], orders.forget))


def decode_oracle_orders(data: bytes) -> OracleOrders:
    """The orders of ``encode_oracle_orders``."""
    before, after, forget = orjson.loads(data)
    return OracleOrders([_read_before(fields) for fields in before], [ReadAfter(*fields) for fields in after], forget)


def _read_before(fields: list[Any]) -> ReadBefore:
    ordinal, attempt, key, task_id, params, path = fields
    return ReadBefore(ordinal, attempt, key, task_id, params, ReadPath(*path))


def encode_oracle_events(events: Iterable[OracleEvent]) -> bytes:
    """An oracle's events as one JSON array."""
    return orjson.dumps([(_TAGS[type(event)], *event) for event in events])


def decode_oracle_events(data: bytes) -> list[OracleEvent]:
    """The events of ``encode_oracle_events``."""
    return [_event(*message) for message in orjson.loads(data)]


def _event(tag: int, *fields: Any) -> OracleEvent:  # noqa: ANN401 - the fields of any of them
    return _EVENTS[tag](*fields)
