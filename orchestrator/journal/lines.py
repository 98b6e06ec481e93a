"""One line of a journal: its types, how it is framed, and how a framed line is checked.

Pure; the format stands in ``orchestrator.journal``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, cast
from zlib import crc32

import orjson

from spec.canonical import Json, JsonObject, is_finite

JOURNAL_FORMAT: Final = 1
"""The format that this version writes and reads; it stands in the head."""

FIRST_PREV: Final = "00000000"
"""What the first line names as the crc of the line before."""

TAIL_BYTES: Final = len(b',"crc":"xxxxxxxx"}\n')
"""The last bytes of a line with its line break; the crc covers everything before them."""

LINE_BYTES_MAX: Final = 64 << 20
"""The longest line, its line break included; reading never holds more than one."""

FRAME_FIELDS: Final = frozenset({"seq", "prev", "type", "at", "key", "crc"})
"""The names that a body must not use."""

_CHECKED_WHERE_BUILT: Final = "row"


class LineType(StrEnum):
    """What a line says."""

    HEAD = "head"
    RESUME = "resume"
    REOPENED = "reopened"
    LEASE = "lease"
    RESERVE = "reserve"
    SPENT = "spent"
    REPORT = "report"
    SCORED = "scored"
    UNREADABLE = "unreadable"
    INFRASTRUCTURE = "infrastructure"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REFUSED = "refused"
    NOTE = "note"
    COMMIT = "commit"
    END = "end"


TERMINAL: Final = frozenset({LineType.SCORED, LineType.UNREADABLE, LineType.INFRASTRUCTURE, LineType.CANCELLED})
"""The types that settle a key; at most one of them stands behind a key's last ``reopened``."""


_NAMES: Final = {line_type: line_type.value.encode() for line_type in LineType}


class Line(NamedTuple):
    """A right line, as recovery hands it on; parsed only where somebody asks.

    Attributes:
        seq: its number, from 0.
        type: what it says.
        key: the trial that it speaks of, or None.
        offset_bytes: where it begins in the file.
        data: its bytes, line break included.
    """

    seq: int
    type: LineType
    key: str | None
    offset_bytes: int
    data: bytes

    def fields(self) -> dict[str, Json]:
        """Everything in the line, parsed."""
        return cast(dict[str, Json], orjson.loads(self.data))

    def body(self) -> dict[str, Json]:
        """What ``append`` was given as the body, parsed."""
        return {name: value for name, value in self.fields().items() if name not in FRAME_FIELDS}


class Frame(NamedTuple):
    """A framed line.

    Attributes:
        data: its bytes, line break included.
        crc: its crc as the next line will name it.
    """

    data: bytes
    crc: str


def frame(seq: int, prev: str, line_type: LineType, at: str, key: str | None, body: JsonObject) -> Frame:
    """Frame one line.

    JSON has no NaN and no infinity, and orjson writes both as null without a word; so they are looked for here, in
    everything but a ``row``. A row is the one large thing in a journal, a walk over it would double the cost of an
    append, and its builder makes it from values that were checked at the border (``spec.report`` for what an arm
    claims); what an oracle saw or a usage report says has no such border.

    Args:
        seq: the line's number.
        prev: the crc of the line before.
        line_type: what the line says.
        at: wall time, UTC, ISO 8601.
        key: the trial's key, or None.
        body: further fields; none of ``FRAME_FIELDS``.

    Raises:
        ValueError: the body cannot be written as it stands.
    """
    try:
        start = b'{"seq":%d,"prev":"%b","type":"%b","at":"%b"' % (seq, prev.encode(), _NAMES[line_type], at.encode())
        named = b"" if key is None else b',"key":%b' % orjson.dumps(key)
        text = b"%b%b,%b" % (start, named, orjson.dumps(body)[1:-1]) if body else start + named
    except TypeError as error:
        raise ValueError(f"a {line_type} line must be JSON: {error}") from error
    if not FRAME_FIELDS.isdisjoint(body):
        raise ValueError(f"a {line_type} line's body must not use {', '.join(sorted(FRAME_FIELDS & body.keys()))}")
    for name, value in body.items():
        if name != _CHECKED_WHERE_BUILT and not is_finite(value):
            raise ValueError(f"a {line_type} line must hold finite numbers only, {name} does not: {value!r:.200}")
    if len(text) > LINE_BYTES_MAX - TAIL_BYTES:
        raise ValueError(f"a {line_type} line of {len(text)} bytes is too long, at most {LINE_BYTES_MAX} are allowed")
    crc = b"%08x" % crc32(text)
    return Frame(b'%b,"crc":"%b"}\n' % (text, crc), crc.decode())


def tail_of(data: bytes) -> bytes:
    """The last bytes that ``data``, a whole line, must have to be right by itself."""
    return b',"crc":"%08x"}\n' % crc32(data[:-TAIL_BYTES])


def is_right(data: bytes) -> bool:
    """Whether a whole line is right by itself: its line break stands and its crc is that of its bytes."""
    return data.endswith(tail_of(data))
