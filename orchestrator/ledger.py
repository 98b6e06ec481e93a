"""How every planned trial stands: in a few bytes each, so that a plan of a million trials costs some megabytes.

The journal is the truth; the ledger is its sum, built again from the journal on resume. The law of conservation is
kept here: planned = scored + unreadable + infrastructure + cancelled + owed.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Final

from orchestrator.kinds.base import Counts
from orchestrator.plan import Plan
from spec.errors import ConservationBroken


class Standing(IntEnum):
    """How a planned trial stands."""

    OWED = 0
    SCORED = 1
    UNREADABLE = 2
    INFRASTRUCTURE = 3
    CANCELLED = 4


NO_OFFSET: Final = -1
NOTHING_YET: Final = (0,) * (len(Standing) - 1)


class Ledger:
    """The standing, attempts and terminal line of each trial of a plan.

    Attributes:
        failures: ordinal -> attempts that failed since the trial was last owed anew.
        unreadable_attempts: arm -> attempts that ended unreadable, terminal or repeated.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._trials, self._arms = plan.trials, len(plan.arms)
        self._standings = bytearray(len(plan))
        self._attempts = array("I", [0]) * len(plan)
        self._offsets = array("q", [NO_OFFSET]) * len(plan)
        self._by_arm = [[len(plan.task_ids) * plan.trials, *NOTHING_YET] for _ in plan.arms]  # by standing
        self.failures: dict[int, int] = {}
        self.unreadable_attempts: Counter[str] = Counter()
        self._unread: Counter[int] = Counter()

    def standing(self, ordinal: int) -> Standing:
        """How a trial stands."""
        return Standing(self._standings[ordinal])

    def is_owed(self, ordinal: int) -> bool:
        """Whether a trial has no end yet."""
        return not self._standings[ordinal]

    def offset_bytes(self, ordinal: int) -> int | None:
        """Where the terminal line of a trial stands in the journal, or None while it is owed."""
        offset = self._offsets[ordinal]
        return None if offset == NO_OFFSET else offset

    def next_attempt(self, ordinal: int) -> int:
        """The number of the attempt that would be the next."""
        return self._attempts[ordinal] + 1

    def started(self, ordinal: int, attempt: int) -> None:
        """An attempt was leased."""
        self._attempts[ordinal] = max(attempt, self._attempts[ordinal])

    def all_started(self, ordinals: Iterable[int], attempt: int) -> None:
        """An attempt of each of these trials was leased."""
        attempts = self._attempts
        for ordinal in ordinals:
            if attempts[ordinal] < attempt:
                attempts[ordinal] = attempt

    def failed(self, ordinal: int) -> int:
        """An attempt failed; how many have, since the trial was last owed anew."""
        self.failures[ordinal] = self.failures.get(ordinal, 0) + 1
        return self.failures[ordinal]

    def unread(self, ordinal: int) -> None:
        """An attempt of an earlier session ended unreadable."""
        self.unreadable_attempts[self.plan.arms[self.plan.arm_of(ordinal)]] += 1
        self._unread[ordinal] += 1

    def changed(self, is_other: Callable[[int], bool]) -> None:
        """The plan has changed: of trials that are other ones now, what failed before says nothing any more.

        Attempts go on being counted, and a terminal line counts until its trial is reopened.

        Args:
            is_other: ordinal -> whether the trial's content has changed.
        """
        for ordinal in [ordinal for ordinal in self.failures if is_other(ordinal)]:
            del self.failures[ordinal]
        for ordinal in [ordinal for ordinal in self._unread if is_other(ordinal)]:
            self.unreadable_attempts[self.plan.arms[self.plan.arm_of(ordinal)]] -= self._unread.pop(ordinal)

    def ended(self, ordinal: int, standing: Standing, offset_bytes: int) -> None:
        """A trial has its terminal line.

        Raises:
            ConservationBroken: it already had one.
        """
        standings = self._standings
        if standings[ordinal]:
            raise ConservationBroken(f"{self.plan.key(ordinal)} would have a second terminal line")
        counts = self._by_arm[ordinal // self._trials % self._arms]
        counts[0] -= 1
        counts[standing] += 1
        standings[ordinal] = standing
        self._offsets[ordinal] = offset_bytes
        if self.failures:
            self.failures.pop(ordinal, None)

    def reopened(self, ordinal: int) -> None:
        """A trial with a terminal line is owed again."""
        self._move(ordinal, Standing.OWED)
        self._offsets[ordinal] = NO_OFFSET
        self.failures.pop(ordinal, None)

    def _move(self, ordinal: int, standing: Standing) -> None:
        counts, standings = self._by_arm[self.plan.arm_of(ordinal)], self._standings
        counts[standings[ordinal]] -= 1
        counts[standing] += 1
        standings[ordinal] = standing

    def ended_before(self, offset_bytes: int) -> int:
        """How many trials have their terminal line before a place in the journal."""
        return sum(NO_OFFSET < offset < offset_bytes for offset in self._offsets)

    def owed(self) -> int:
        """How many trials are owed."""
        return sum(counts[Standing.OWED] for counts in self._by_arm)

    def counts(self) -> dict[str, Counts]:
        """How the trials of each arm stand."""
        return {
            arm: Counts(
                planned=len(self.plan.task_ids) * self.plan.trials,
                scored=by_standing[Standing.SCORED],
                unreadable=by_standing[Standing.UNREADABLE],
                infrastructure=by_standing[Standing.INFRASTRUCTURE],
                cancelled=by_standing[Standing.CANCELLED],
                owed=by_standing[Standing.OWED],
                unreadable_attempts=self.unreadable_attempts[arm],
            )
            for arm, by_standing in zip(self.plan.arms, self._by_arm, strict=True)
        }

    def conservation(self) -> dict[str, int]:
        """The conservation line: planned and its five parts."""
        return conservation(self.counts())

    def check(self) -> None:
        """Count every trial anew and compare.

        Raises:
            ConservationBroken: the sums differ; a figure made from them would lie.
        """
        line = self.conservation()
        found = {standing: self._standings.count(standing) for standing in Standing}
        parts = {name: line[name] for name in ("owed", "scored", "unreadable", "infrastructure", "cancelled")}
        if list(parts.values()) != list(found.values()) or sum(parts.values()) != line["planned"]:
            raise ConservationBroken(f"the sums {line} do not agree with the trials, which give {found}")


def conservation(counts: Mapping[str, Counts]) -> dict[str, int]:
    """The conservation line of a run from the counts of its arms."""
    names = ("planned", "scored", "unreadable", "infrastructure", "cancelled", "owed")
    return {name: sum(getattr(of_arm, name) for of_arm in counts.values()) for name in names}
