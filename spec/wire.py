"""Worker events as JSON bytes: what comes from a process that ran arm code is never unpickled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from spec.messages import Cause, Failed, Finished, Noted, Opened, Returned, Settled, WorkerEvent
from spec.reading import ReadPath
from spec.report import ArmFault

_TYPES: Final[tuple[type[WorkerEvent], ...]] = (Opened, Finished, Failed, Returned, Noted, Settled)
_TAGS: Final = {kind: tag for tag, kind in enumerate(_TYPES)}

_SHAPES: Final[dict[type[WorkerEvent], frozenset[tuple[type, ...]]]] = {
    Opened: frozenset({(int, int, list)}),
    Finished: frozenset(
        (int, int, dict, fault, str, str, str, number) for fault in (str, type(None)) for number in (int, float)
    ),
    Failed: frozenset({(int, int, str, str)}),
    Returned: frozenset({(int, int)}),
    Settled: frozenset({(int,)}),
    Noted: frozenset({(str,)}),
}
"""Which JSON types the fields of an event may have."""


def encode_events(events: Iterable[WorkerEvent]) -> bytes:
    """Events as one JSON array."""
    return orjson.dumps([_plain(event) for event in events])


def _plain(event: WorkerEvent) -> tuple[object, ...]:
    if type(event) is Opened:
        return (0, event.ordinal, event.attempt, tuple(event.read_path))
    return (_TAGS[type(event)], *event)


def decode_events(data: bytes) -> list[WorkerEvent]:
    """The events of ``encode_events``.

    Raises:
        ValueError: the bytes are not what a worker writes.
    """
    try:
        batch = orjson.loads(data)
        if type(batch) is not list:
            raise TypeError(f"a {type(batch).__name__} is no list of events")
        return [_event(fields) for fields in batch]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"a worker's message has the wrong shape: {error}") from error


def _event(message: list[Any]) -> WorkerEvent:
    tag, *fields = message
    if type(tag) is not int or tag < 0:
        raise TypeError(f"{tag!r} is no kind of event")
    kind = _TYPES[tag]
    if tuple(map(type, fields)) not in _SHAPES[kind]:
        raise TypeError(f"these are not the fields of {kind.__name__}")
    if kind is Opened:
        ordinal, attempt, path = fields
        return Opened(ordinal, attempt, _read_path(path))
    if kind is Finished:
        ordinal, attempt, report, fault, *rest = fields
        return Finished(ordinal, attempt, report, None if fault is None else ArmFault(fault), *rest)
    if kind is Failed:
        ordinal, attempt, cause, detail = fields
        return Failed(ordinal, attempt, Cause(cause), detail)
    return kind(*fields)


def _read_path(fields: list[Any]) -> ReadPath:
    if tuple(map(type, fields)) != (str, bool, dict):
        raise TypeError("these are not the fields of a ReadPath")
    return ReadPath(*fields)
