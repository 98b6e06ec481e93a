"""Reading a journal back: every right line once, in order, and what to do about the first one that is not right.

The rule stands in ``orchestrator.journal``. Lines are checked as bytes and never parsed, one at a time, so that a
journal of a million rows costs seconds and no memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple
from zlib import crc32

import orjson

from orchestrator.journal.lines import (
    FIRST_PREV,
    LINE_BYTES_MAX,
    TAIL_BYTES,
    Line,
    LineType,
    is_right,
)
from spec.canonical import Json, JsonObject
from spec.errors import InputError, JournalDamaged, JournalHeadless

_READ_BYTES: Final = 64 << 10  # what fits a core's own cache: larger blocks were slower
_SCORED_BYTES: Final = len(b'scored","at":"')
_KEY: Final = b'","key":"'
_KEY_CHARS: Final = len("2026-01-31T12:00:00.000000Z") + len(_KEY)
_NAMES: Final = re.compile(rb'([a-z]+)","at":"[^"]*"(?:,"key":"([^"\\]*(?:\\.[^"\\]*)*)")?[,}]')
_COMMIT: Final = re.compile(
    rb'\{"seq":\d+,"prev":"[0-9a-f]{8}","type":"commit","at":"[^"]*","offset":(\d+),"crc":"[0-9a-f]{8}"\}\n'
)
_OPENING: Final = frozenset({LineType.HEAD, LineType.RESUME})
_TYPES: Final = {member.value.encode(): member for member in LineType}


class Cut(NamedTuple):
    """The end of a journal that is to be cut off: none of it was known to be acknowledged.

    Attributes:
        offset_bytes: where the first line that is not right begins.
        lost_bytes: how many bytes stand from there to the end.
        why: what is wrong with that line.
    """

    offset_bytes: int
    lost_bytes: int
    why: str

    def __str__(self) -> str:
        """The notice, one sentence."""
        return f"the last {self.lost_bytes} bytes of the journal, from byte {self.offset_bytes}, are cut: {self.why}"


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a journal's right lines come to; ``Journal.resume`` goes on from here.

    Attributes:
        head: the head's body.
        sessions: the bodies of the head and of each ``resume``, in order.
        seq: the number of the next line.
        prev: the crc of the last right line, which the next line names.
        size_bytes: where the next line will stand.
        cut: what stands behind that and has to go, or None.
        ended: the last right line, commits aside, is an ``end``.
    """

    head: JsonObject
    sessions: tuple[JsonObject, ...]
    seq: int
    prev: str
    size_bytes: int
    cut: Cut | None
    ended: bool


def recover(
    path: Path, on_line: Callable[[Line], None], on_scored: Callable[[str, int], None] | None = None
) -> Recovered:
    """Read a journal from its first byte to its last; nothing is changed.

    Args:
        path: the journal.
        on_line: is given every right line up to the end or the cut, in order, commits included.
        on_scored: is given key and offset in bytes of scored lines in the place of ``on_line``, which is cheaper, but
            for those whose key has to be unescaped.

    Raises:
        JournalDamaged: something acknowledged is not what was written.
        JournalHeadless: there is no whole head.
        InputError: there is no journal, it cannot be read, or another version of this program wrote it.
    """
    try:
        with path.open("rb", buffering=_READ_BYTES) as file:
            reached = _Reached()
            wrong = _follow(_lines(file), path, reached, on_line, on_scored)
            cut = None if wrong is None else _judge(file, path, reached, wrong)
    except OSError as error:
        raise InputError(f"{path}: the journal cannot be read: {error.strerror}") from error
    if not reached.sessions:
        raise JournalHeadless(path)
    return Recovered(
        head=reached.sessions[0],
        sessions=tuple(reached.sessions),
        seq=reached.seq,
        prev=reached.prev.decode(),
        size_bytes=reached.offset_bytes,
        cut=cut,
        ended=reached.last is LineType.END,
    )


@dataclass(slots=True)
class _Reached:
    """How far the right lines go."""

    seq: int = 0
    prev: bytes = FIRST_PREV.encode()
    offset_bytes: int = 0
    last: LineType | None = None
    sessions: list[dict[str, Json]] = field(default_factory=list)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.readline, LINE_BYTES_MAX), b"")


def _follow(
    lines: Iterable[bytes],
    path: Path,
    reached: _Reached,
    on_line: Callable[[Line], None],
    on_scored: Callable[[str, int], None] | None,
) -> bytes | None:
    """Hand on right lines until there are no more; gives the first line that is not right, or None.

    The hot loop of a resume: it runs once for each of perhaps a million lines.
    """
    seq, prev, offset, last, wrong = 0, reached.prev, 0, None, None
    commit, scored = LineType.COMMIT, LineType.SCORED
    for data in lines:
        tail = b',"crc":"%08x"}\n' % crc32(data[:-TAIL_BYTES])
        start = b'{"seq":%d,"prev":"%b","type":"scored","at":"' % (seq, prev)
        place = len(start) + _KEY_CHARS
        if (
            on_scored is not None
            and data.startswith(start)
            and data.endswith(tail)
            and data.startswith(_KEY, place - len(_KEY))
            and b"\\" not in (escaped := data[place : data.find(b'"', place)])
            and seq
        ):
            on_scored(escaped.decode(), offset)
            last = scored
        else:
            start = start[:-_SCORED_BYTES]
            if not (data.startswith(start) and data.endswith(tail)):
                wrong = data
                break
            line_type, key = _named(data, len(start), path, offset, first=seq == 0)
            line = Line(seq, line_type, key, offset, data)
            on_line(line)
            if line_type in _OPENING:
                reached.sessions.append(line.body())
            if line_type is not commit:
                last = line_type
        seq, prev, offset = seq + 1, tail[8:16], offset + len(data)
    reached.last = last
    reached.seq, reached.prev, reached.offset_bytes = seq, prev, offset
    return wrong


def _named(data: bytes, place: int, path: Path, offset: int, *, first: bool) -> tuple[LineType, str | None]:
    """Type and key of any right line.

    Raises:
        InputError: they are not where this version writes them.
    """
    names = _NAMES.match(data, place)
    line_type = None if names is None else _TYPES.get(names[1])
    if names is None or line_type is None or first is not (line_type is LineType.HEAD):
        raise InputError(f"{path}: the line at byte {offset} is of another version of this program: {data!r:.120}")
    key = names[2]
    return line_type, None if key is None else _text(key)


def _text(escaped: bytes) -> str:
    return str(orjson.loads(b'"%b"' % escaped)) if b"\\" in escaped else escaped.decode()


def _judge(file: BinaryIO, path: Path, reached: _Reached, wrong: bytes) -> Cut:
    """What a wrong line means, by what stands from it to the end of the file."""
    why, damage, size = _why(wrong, reached), reached.offset_bytes, reached.offset_bytes
    for data in chain((wrong,), _lines(file)):
        size += len(data)
        if _committed_to(data) > damage:
            raise JournalDamaged(str(path), damage, why)
    return Cut(damage, size - damage, why)


def _committed_to(data: bytes) -> int:
    """The offset that a right commit names, else -1.

    Where a line break was lost, a commit hangs on the end of the line before it; it still vouches.
    """
    piece = data[max(0, data.rfind(b'{"seq":')) :]
    commit = _COMMIT.fullmatch(piece)
    return int(commit[1]) if commit and is_right(piece) else -1


def _why(data: bytes, reached: _Reached) -> str:
    if not data.endswith(b"\n"):
        return "the line has no line break"
    if not is_right(data):
        return f"the line's crc is not that of its {len(data) - TAIL_BYTES} bytes"
    if data.startswith(b'{"seq":%d,' % reached.seq):
        return f"the line does not follow the one before it, whose crc is {reached.prev.decode()}"
    return f"the line's number is not {reached.seq}"
