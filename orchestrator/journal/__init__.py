r"""The file of a run, ``journal.jsonl``: what was planned, started and found, in the order in which it happened.

**Bytes.** One compact JSON object a line, UTF-8, ended by ``\n``; JSON escapes a line break inside of text. ::

    {"seq":7,"prev":"1c291ca3","type":"scored","at":"2026-01-31T12:00:00.000000Z","key":"a::t::t0",...,"crc":"9ae0daaf"}
     |       |                 |               |                                  |              |   `- exactly 18 bytes
     |       |                 |               |                                  |              `----- the line's body
     |       |                 |               |                                  `- only where the line has a key
     |       |                 |               `- wall time, a label and never an order
     |       |                 `- a LineType
     |       `- the crc of the line before, "00000000" in the first
     `- from 0, without a gap, over all sessions of the run

``crc`` is the CRC-32, eight lower-case hexadecimal digits, of all bytes of the line before its last 18 (19 with the
line break). CRC-32 finds damage by machines, not forgery by people.

**Order.** ``head`` first; a later session opens with ``resume``; a session that ended as it should closes with ``end``
and ``commit``. Lines are gathered into groups: one write and one sync a group. ``commit`` names the byte behind a
group's last line and is written only after that group's sync has returned, so it stands behind what it vouches for and
goes to the disk with the next group.

**What survives a crash.**

=====================================  ==================================================================
the process or the machine stops       then the next session finds
=====================================  ==================================================================
before ``create`` has returned         no file, or one without a whole head (``JournalHeadless``):
                                       nothing was started, the run can be started anew
between ``append`` and ``commit``      nothing of these lines: they were never acknowledged
during the write or before the sync    a part of the group: its whole lines are kept, a torn rest is cut
after the sync, before ``commit``'s    all of the group: whole lines behind the last ``commit`` are kept
line is on the disk
at any later time                      all of the group; damage in it is an error that names the byte
=====================================  ==================================================================

Reading goes forward to the first line that is not right: crc, chain, number or line break. If any right ``commit``
from there on names an offset behind that place, something acknowledged is damaged (``JournalDamaged``), and nothing
is touched. Otherwise the rest was never acknowledged, or its acknowledgement went down with it: it is cut, and the
``Cut`` says so. A line without its line break is no line.

**When the disk refuses** a write or a sync, or takes only a part of a write, the group is cut off again as far as the
disk lets us, and the journal refuses everything from then on. A sync is never tried twice: the kernel reports a lost
page once, and a second sync would vouch for bytes that are gone. That is also why the group is cut off: a later session
must not build on pages that only the cache holds. Where even the cut is refused, whole lines of that group are kept by
the next session although nobody acknowledged them.

**Left out on purpose.** No index: offsets come from ``append`` and ``recover``. No compression and no binary framing:
any JSON Lines tool reads the file. No rotation: one run, one file. No lock: ``orchestrator.runlock`` has it. No check
that a row's numbers are finite (``frame`` says why). No rewriting of a damaged middle.
"""

from __future__ import annotations

from orchestrator.journal.lines import JOURNAL_FORMAT, LINE_BYTES_MAX, TERMINAL, Line, LineType
from orchestrator.journal.reading import LineReader
from orchestrator.journal.recovery import Cut, Recovered, recover
from orchestrator.journal.writer import Journal
from spec.errors import JournalHeadless

__all__ = [
    "JOURNAL_FORMAT",
    "LINE_BYTES_MAX",
    "TERMINAL",
    "Cut",
    "Journal",
    "JournalHeadless",
    "Line",
    "LineReader",
    "LineType",
    "Recovered",
    "recover",
]
