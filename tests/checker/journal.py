"""Reads a journal by its published format: framing, chain and commits (I2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from zlib import crc32

import orjson

from tests.checker.violation import Violation

TAIL_BYTES: Final = len(b',"crc":"xxxxxxxx"}\n')
START: Final = re.compile(rb'\{"seq":(\d+),"prev":"([0-9a-f]{8})","type":"([a-z]+)","at":"[^"]+"[,}]')
TERMINAL: Final = frozenset({"scored", "unreadable", "infrastructure", "cancelled"})
TYPES: Final = TERMINAL | {
    *("head", "resume", "reopened", "lease", "reserve", "spent", "report", "failed", "refused", "note", "commit", "end")
}
CLOSING: Final = ["end", "commit"]


class Line(NamedTuple):
    """A right line.

    Attributes:
        offset: its first byte.
        end: the byte behind its line break.
        fields: all of it, parsed.
    """

    offset: int
    end: int
    fields: dict[str, Any]

    @property
    def type(self) -> str:
        """What it says."""
        return str(self.fields["type"])

    @property
    def where(self) -> str:
        """For a sentence."""
        return f"line {self.fields['seq']} ({self.type}, byte {self.offset})"


@dataclass
class Journal:
    """The right lines of a journal up to the first that is not, and what is wrong with the file as a whole.

    Attributes:
        torn: the byte where the first line begins that is not right, or None.
    """

    lines: list[Line] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    torn: int | None = None

    def of(self, *types: str) -> Iterator[Line]:
        """The lines of some types, in order."""
        return (line for line in self.lines if line.type in types)

    @property
    def closed(self) -> bool:
        """Whether its last session came to its end: results are made from a closed journal alone."""
        return self.torn is None and [line.type for line in self.lines[-2:]] == CLOSING

    def fault(self, text: str) -> None:
        """Note a violation of I2."""
        self.violations.append(Violation("I2", text))


def read_journal(data: bytes, *, closed: bool) -> Journal:
    """Read a journal.

    Args:
        data: the file.
        closed: it must end in ``end`` and ``commit``, with nothing torn.
    """
    journal = Journal()
    prev = b"00000000"
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", offset) + 1
        why = _wrong(data[offset:end], len(journal.lines), prev) if end else "it has no line break"
        if why:
            journal.torn = offset
            _judge_rest(journal, data, why, closed=closed)
            break
        line = Line(offset, end, orjson.loads(data[offset:end]))
        journal.lines.append(line)
        prev = str(line.fields["crc"]).encode()
        offset = end
    _judge_order(journal, closed=closed)
    _judge_commits(journal)
    return journal


def acknowledged(data: bytes) -> bytes:
    """The part of a journal that its last right commit vouches for."""
    return data[: max((offset for offset, _ in _commits(data, 0)), default=0)]


def _wrong(line: bytes, seq: int, prev: bytes) -> str:
    """What is wrong with one whole line, or ""."""
    if line[-TAIL_BYTES:] != b',"crc":"%08x"}\n' % crc32(line[:-TAIL_BYTES]):
        return "its crc is not that of its bytes"
    start = START.match(line)
    if start is None:
        return "it does not begin as a line must"
    if int(start[1]) != seq:
        return f"its number is {int(start[1])} where {seq} is due"
    if start[2] != prev:
        return f"it names {start[2].decode()} as the crc before, which is {prev.decode()}"
    if start[3].decode() not in TYPES:
        return f"its type {start[3].decode()} is unknown"
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return "it is no JSON"
    return ""


def _commits(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """(offset vouched for, byte where it stands) of each commit from ``start`` on that is right by itself."""
    place = start
    for line in data[start:].splitlines(keepends=True):
        if line[-TAIL_BYTES:] == b',"crc":"%08x"}\n' % crc32(line[:-TAIL_BYTES]) and b'"type":"commit"' in line[:80]:
            yield int(orjson.loads(line)["offset"]), place
        place += len(line)


def _judge_rest(journal: Journal, data: bytes, why: str, *, closed: bool) -> None:
    torn = journal.torn or 0
    beyond = [place for offset, place in _commits(data, torn) if offset > torn]
    if beyond:
        journal.fault(f"byte {torn} is damaged ({why}) though a commit at byte {beyond[0]} vouches for it")
    elif closed:
        journal.fault(f"the last {len(data) - torn} bytes, from byte {torn}, are no whole line: {why}")


def _judge_order(journal: Journal, *, closed: bool) -> None:
    types = [line.type for line in journal.lines]
    if types[:1] != ["head"] or types.count("head") != 1:
        journal.fault("a journal begins with its only head")
    if closed and types[-2:] != CLOSING:
        journal.fault(f"a finished journal ends in end and commit, not in {', '.join(types[-2:]) or 'nothing'}")
    for before, line in zip(types, journal.lines[1:], strict=False):
        if before == "end" and line.type not in ("commit", "resume"):  # a crash may have taken the end's commit
            journal.fault(f"{line.where} stands behind an end, where only a commit or a resume may")


def _judge_commits(journal: Journal) -> None:
    ends = {line.end for line in journal.lines}
    last = 0
    for line in journal.of("commit"):
        offset = line.fields["offset"]
        if offset not in ends or offset > line.offset or offset <= last:
            journal.fault(f"{line.where} vouches for byte {offset}, where no group before it ends")
        last = offset
    if journal.lines and [line.type for line in journal.lines[-2:]] == CLOSING and last != journal.lines[-1].offset:
        journal.fault("the last commit does not vouch for the end")
