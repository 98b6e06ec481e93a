"""Worker events as JSON bytes: what comes from a process that ran arm code is never unpickled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from spec.messages import Cause, Failed, Finished, Noted, Opened, Returned, WorkerEvent
from spec.reading import ReadPath
from spec.report import ArmFault

_TYPES: Final[tuple[type[WorkerEvent], ...]] = (Opened, Finished, Failed, Returned, Noted)
_TAGS: Final = {kind: tag for tag, kind in enumerate(_TYPES)}


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
        return [_event(fields) for fields in orjson.loads(data)]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"a worker's message has the wrong shape: {error}") from error


def _event(message: list[Any]) -> WorkerEvent:
    tag, *fields = message
    kind = _TYPES[tag]
    if kind is Opened:
        ordinal, attempt, path = fields
        return Opened(ordinal, attempt, ReadPath(*path))
    if kind is Finished:
        ordinal, attempt, report, fault, *rest = fields
        return Finished(ordinal, attempt, report, None if fault is None else ArmFault(fault), *rest)
    if kind is Failed:
        ordinal, attempt, cause, detail = fields
        return Failed(ordinal, attempt, Cause(cause), detail)
    return Returned(*fields) if kind is Returned else Noted(*fields)
