"""What a run's journal says happened: the ledger and the terminal lines, read back for resume, report and verify.

A run can have several sessions, and each says by which plan it went: the latest one counts. Lines of an earlier session
about trials that are no longer planned are passed over; they stay in the journal and are in no result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from orchestrator.content import Content, Parts, merged
from orchestrator.journal import TERMINAL, Line, LineType, Recovered, recover
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from orchestrator.shapes import check_lease, check_opening
from spec.canonical import JsonObject
from spec.errors import InputError

JOURNAL_NAME: Final = "journal.jsonl"

_IS_SCORED: Final = Standing.SCORED
UNKNOWN: Final = -1
"""The number of a line that was told of by its key alone."""

_STANDINGS: Final = {
    LineType.SCORED: Standing.SCORED,
    LineType.UNREADABLE: Standing.UNREADABLE,
    LineType.INFRASTRUCTURE: Standing.INFRASTRUCTURE,
    LineType.CANCELLED: Standing.CANCELLED,
}


class LatestPlan(NamedTuple):
    """Which plan of a run is the latest.

    Attributes:
        number: how many plans the run has had, one after the other.
        since_bytes: where the line stands that opened the first session under it; ends before that are kept ones.
    """

    number: int = 1
    since_bytes: int = 0


@dataclass(frozen=True, slots=True)
class History:
    """A journal, read.

    Attributes:
        ledger: how every trial of the plan stands.
        recovered: what the journal needs to go on.
        leases: how many leases it has.
        latest: which plan the last session went by.
        parts: the last known digest of every task and arm, and of the provider; None where the journal has none.
        left: arm -> ended trials that the plan does not have.
    """

    ledger: Ledger
    recovered: Recovered
    leases: int
    latest: LatestPlan
    parts: Parts | None
    left: Counter[str]

    @property
    def session(self) -> JsonObject:
        """What the last session said of itself when it opened."""
        return self.recovered.sessions[-1]


class Replay:
    """Feeds lines to a ledger.

    Args:
        plan: the trials that are asked about.
        twice: told of a terminal line of a trial that has one already; None: that raises ``ConservationBroken``.

    Attributes:
        foreign: of the last session: the first line about a trial that the plan does not have, or None.
    """

    def __init__(self, plan: Plan, twice: Callable[[Line], None] | None = None) -> None:
        self.ledger, self.leases, self.latest = Ledger(plan), 0, LatestPlan()
        self.parts: Parts | None = None
        self.left: Counter[str] = Counter()
        self.foreign: Line | None = None
        self._plan, self._twice, self._digest = plan, twice, ""
        self._find, self._end = plan.find, self.ledger.ended
        self._actions: dict[LineType, Callable[[Line], None]] = {
            LineType.HEAD: self._opened,
            LineType.RESUME: self._opened,
            LineType.LEASE: self._lease,
            LineType.FAILED: self._failed,
            LineType.REOPENED: self._reopened,
            **dict.fromkeys(TERMINAL, self._ended),
        }

    def on_line(self, line: Line) -> None:
        """Take the journal's next line."""
        action = self._actions.get(line.type)
        if action is not None:
            action(line)

    def on_scored(self, key: str, offset_bytes: int) -> None:
        """Take a scored line by its key alone: of a million rows there are a million."""
        ordinal = self._find(key)
        if ordinal is None:
            line = Line(UNKNOWN, LineType.SCORED, key, offset_bytes, b"")
            self.foreign = self.foreign or line
            self._left(line, 1)
        else:
            self._end(ordinal, _IS_SCORED, offset_bytes)

    def _opened(self, line: Line) -> None:
        body = cast(dict[str, Any], line.body())
        check_opening(body)
        digest, parts = str(body.get("plan_digest")), body.get("parts")
        if line.type is LineType.RESUME and digest != self._digest:
            self.latest = LatestPlan(self.latest.number + 1, line.offset_bytes)
        if parts is not None:
            self.parts = begin(self.ledger, self.parts, parts)
        self._digest, self.foreign = digest, None

    def _lease(self, line: Line) -> None:
        body = cast(dict[str, Any], line.body())
        check_lease(body, line.offset_bytes)
        self.leases += 1
        ordinals = self._plan.find_all(body["keys"])
        if None in ordinals:
            ordinals = [self._ordinal(key, line) for key in body["keys"]]
        self.ledger.all_started((ordinal for ordinal in ordinals if ordinal is not None), body["attempt"])

    def _failed(self, line: Line) -> None:
        ordinal = self._ordinal(line.key, line)
        if ordinal is not None:
            if line.fields().get("counted", True):  # where a worker was lost with many trials, it counts against none
                self.ledger.failed(ordinal)
            self._count_unreadable(ordinal, line)

    def _reopened(self, line: Line) -> None:
        ordinal = self._ordinal(line.key, line)
        if ordinal is None:
            self._left(line, -1)
        else:
            self.ledger.reopened(ordinal)

    def _ended(self, line: Line) -> None:
        ordinal = self._ordinal(line.key, line)
        if ordinal is None:
            self._left(line, 1)
        elif self._twice is not None and not self.ledger.is_owed(ordinal):
            self._twice(line)
        else:
            self.ledger.ended(ordinal, _STANDINGS[line.type], line.offset_bytes)
            if line.type is LineType.UNREADABLE:
                self._count_unreadable(ordinal, line)

    def _left(self, line: Line, change: int) -> None:
        self.left[(line.key or "").partition("::")[0]] += change

    def _count_unreadable(self, ordinal: int, line: Line) -> None:
        if line.fields().get("cause") == "unreadable":
            self.ledger.unread(ordinal)

    def _ordinal(self, key: str | None, line: Line) -> int | None:
        ordinal = None if key is None else self._plan.find(key)
        if ordinal is None and self.foreign is None:
            self.foreign = line._replace(key=key)
        return ordinal


def begin(ledger: Ledger, known: Parts | None, parts: Parts) -> Parts:
    """A session begins: what earlier ones tried of trials that are other ones now says nothing any more.

    Args:
        ledger: how trials stand.
        known: what earlier sessions' trials were made of, as this gave it; None before the first.
        parts: the session's own.

    Returns:
        What is known now.
    """
    if known is None:
        return parts
    if known != parts:
        before, after = Content(known, ledger.plan), Content(parts, ledger.plan)
        ledger.changed(lambda ordinal: before.differs(after, ordinal))
    return merged(known, parts)


def read_history(journal: Path, plan: Plan, *, next_plan: bool = False) -> History:
    """Read a journal against the plan that it belongs to.

    Args:
        journal: the file.
        plan: the trials.
        next_plan: the plan is that of the next session, which need not have all trials of the last one.

    Raises:
        InputError: a line of the last session speaks of a trial that the plan does not have.
        JournalDamaged: the journal is damaged before its last commit.
    """
    replay = Replay(plan)
    recovered = recover(journal, replay.on_line, replay.on_scored)
    if not next_plan:
        refuse_foreign(journal, replay)
    return _history(replay, recovered)


def read_latest(journal: Path, plan_of: Callable[[JsonObject], Plan]) -> History:
    """Read a journal against the plan of its last session.

    Args:
        journal: the file.
        plan_of: the plan of a session, from the body of the line that opened it.

    Raises:
        InputError: as ``read_history``.
        JournalDamaged: the same.
    """
    replay: Replay | None = None

    def on_line(line: Line) -> None:
        nonlocal replay
        replay = replay or Replay(plan_of(line.body()))
        replay.on_line(line)

    def on_scored(key: str, offset_bytes: int) -> None:
        if replay is not None:  # the head has come first
            replay.on_scored(key, offset_bytes)

    recovered = recover(journal, on_line, on_scored)
    plan = plan_of(recovered.sessions[-1])
    if replay is None or not replay.ledger.plan.is_same(plan):
        return read_history(journal, plan)
    refuse_foreign(journal, replay)
    return _history(replay, recovered)


def refuse_foreign(journal: Path, replay: Replay) -> None:
    """Let no line of the last session speak of a trial that the plan does not have.

    Raises:
        InputError: one does; it is named.
    """
    line = replay.foreign
    if line is not None:
        raise InputError(f"{journal}: byte {line.offset_bytes} speaks of {line.key!r}, which is no trial of this plan")


def _history(replay: Replay, recovered: Recovered) -> History:
    return History(replay.ledger, recovered, replay.leases, replay.latest, replay.parts, replay.left)
