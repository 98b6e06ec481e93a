"""What a run's journal says happened: the ledger and the terminal lines, read back for resume, report and verify."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from orchestrator.journal import TERMINAL, Line, LineType, Recovered, recover
from orchestrator.ledger import Ledger, Standing
from orchestrator.plan import Plan
from spec.errors import InputError

JOURNAL_NAME: Final = "journal.jsonl"

_STANDINGS: Final = {
    LineType.SCORED: Standing.SCORED,
    LineType.UNREADABLE: Standing.UNREADABLE,
    LineType.INFRASTRUCTURE: Standing.INFRASTRUCTURE,
    LineType.CANCELLED: Standing.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class History:
    """A journal, read.

    Attributes:
        ledger: how every trial of the plan stands.
        recovered: what the journal needs to go on.
        leases: how many leases it has.
    """

    ledger: Ledger
    recovered: Recovered
    leases: int


def read_history(journal: Path, plan: Plan) -> History:
    """Read a journal against the plan that it belongs to.

    Raises:
        InputError: a line speaks of a trial that the plan does not have.
        JournalDamaged: the journal is damaged before its last commit.
    """
    replay = _Replay(journal, Ledger(plan))
    recovered = recover(journal, replay.on_line)
    return History(replay.ledger, recovered, replay.leases)


class _Replay:
    """Feeds lines to a ledger."""

    def __init__(self, journal: Path, ledger: Ledger) -> None:
        self._journal, self.ledger, self.leases = journal, ledger, 0
        self._actions: dict[LineType, Callable[[Line], None]] = {
            LineType.LEASE: self._lease,
            LineType.FAILED: self._failed,
            LineType.REOPENED: self._reopened,
            **dict.fromkeys(TERMINAL, self._ended),
        }

    def on_line(self, line: Line) -> None:
        action = self._actions.get(line.type)
        if action is not None:
            action(line)

    def _lease(self, line: Line) -> None:
        body = cast(dict[str, Any], line.body())
        self.leases += 1
        for key in body["keys"]:
            self.ledger.started(self._ordinal(key, line), body["attempt"])

    def _failed(self, line: Line) -> None:
        self.ledger.failed(self._ordinal(line.key, line))
        self._count_unreadable(line)

    def _reopened(self, line: Line) -> None:
        self.ledger.reopened(self._ordinal(line.key, line))

    def _ended(self, line: Line) -> None:
        self.ledger.ended(self._ordinal(line.key, line), _STANDINGS[line.type], line.offset_bytes)
        if line.type is LineType.UNREADABLE:
            self._count_unreadable(line)

    def _count_unreadable(self, line: Line) -> None:
        if line.body().get("cause") == "unreadable":
            arm = self.ledger.plan.arms[self.ledger.plan.arm_of(self._ordinal(line.key, line))]
            self.ledger.unreadable_attempts[arm] += 1

    def _ordinal(self, key: str | None, line: Line) -> int:
        ordinal = None if key is None else self.ledger.plan.find(key)
        if ordinal is None:
            raise InputError(
                f"{self._journal}: byte {line.offset_bytes} speaks of {key!r}, which is no trial of this plan"
            )
        return ordinal
