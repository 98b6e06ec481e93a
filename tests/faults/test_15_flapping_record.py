"""Row 15: of every short sequence of readings the right one counts, on final and on live paths, slow reads or not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, product, repeat
from typing import Final

import anyio
import pytest

from oracle.base import Judgement, Patience, ReadFailed
from oracle.reading import Reading, settle_reading
from oracle.retry import RetryPolicy
from tests.faults.card import CardOfTest, Scale
from tests.oracle.test_reading import HOLDS, SEQUENCES, UNREADABLE, FakeTime, judge

ALL_SEQUENCES: Final = 363
READ_S: Final = (0.0, 0.3, 40.0)
"""How long one read takes: nothing, longer than a wait, longer than the retries may take in all."""

PATIENCE: Final = (Patience(0, 0), Patience(0.12, 2), Patience(60, 1))
DEADLINE_S: Final = 30.0


class SlowRecord:
    """A record that flaps; each reading takes its time and shows what stood there when it began.

    Attributes:
        began: for each read, when it began.
        seen: for each read, what it gave: place and letter.
    """

    def __init__(self, sequence: str, time: FakeTime, read_s: float) -> None:
        self._letters = enumerate(chain(sequence, repeat(sequence[-1])))
        self._time, self._read_s = time, read_s
        self.began: list[float] = []
        self.seen: list[str] = []

    async def read(self) -> Reading:
        self.began.append(self._time.now_s)
        place, letter = next(self._letters)
        self.seen.append(f"{place}{letter}")
        self._time.now_s += self._read_s
        return ReadFailed(self.seen[-1]) if letter == UNREADABLE else {"notes": [{"id": self.seen[-1]}]}


def look(
    sequence: str, *, final: bool, patience: Patience, attempts: int, read_s: float
) -> tuple[Judgement, int, SlowRecord]:
    """The judgement that counts, the reads that were told, and the record."""
    time = FakeTime()
    record = SlowRecord(sequence, time, read_s)
    policy = RetryPolicy(attempts, DEADLINE_S)

    async def main() -> tuple[Judgement, int]:
        return await settle_reading(
            read=record.read,
            judge=judge,
            final=final,
            patience=patience,
            policy=policy,
            time=time,
            jitter=lambda low, high: high,
        )

    return (*anyio.run(main), record)


def is_readable(seen: str) -> bool:
    return not seen.endswith(UNREADABLE)


def problems(judgement: Judgement, reads: int, record: SlowRecord, *, final: bool, attempts: int) -> list[str]:
    """What contradicts the rules: which reading counts, how often was it read, and was an answer made up."""
    counts = judgement.reason
    readable = [seen for seen in record.seen if is_readable(seen)]
    found = []
    if reads != len(record.seen):
        found.append(f"{reads} reads were told and {len(record.seen)} made")
    if counts not in record.seen or judgement.readable != is_readable(counts):
        found.append(f"{counts} was never read")
    wanted = (readable or record.seen)[0 if final and readable else -1]
    if counts != wanted:
        found.append(f"{counts} counts and not {wanted}")
    if final and readable and record.seen[-1] != readable[0]:
        found.append("a final record was read again behind a readable reading")
    if not readable and judgement.readable:
        found.append("a verdict without a reading")
    if longest_failure(record.seen) > attempts * (1 if final else 2):  # a live one is read once more after settling
        found.append(f"an unreadable record was read more than {attempts} times in one go")
    late = [began for began, seen in zip(record.began, record.seen, strict=True) if not is_readable(seen)]
    if final and late and late[-1] - late[0] > DEADLINE_S + max(READ_S):
        found.append("a read was started after the limit")
    return found


def longest_failure(seen: Sequence[str]) -> int:
    """The longest stretch of unreadable readings."""
    return max(map(len, "".join(one[-1] for one in seen).replace(HOLDS, "F").split("F")))


@pytest.mark.parametrize("final", [True, False], ids=["final", "live"])
def test_the_right_reading_counts(card: CardOfTest, scale: Scale, final: bool) -> None:
    """Every sequence of one to five letters of unreadable, holds and fails, whatever patience, limits and speed."""
    row = card.row(15, "oracle flapping, all sequences of up to five readings")
    limits = range(scale(smoke=2, quick=1, full=1), scale(smoke=3, quick=5, full=7))
    speeds = READ_S[: scale(smoke=2, quick=3, full=3)]
    assert len(SEQUENCES) == ALL_SEQUENCES
    patiences = PATIENCE[:1] if final else PATIENCE
    for sequence, patience, attempts, read_s in product(SEQUENCES, patiences, limits, speeds):
        outcome = look(sequence, final=final, patience=patience, attempts=attempts, read_s=read_s)
        row.trial(1)
        row.inject(sum(letter != HOLDS for letter in sequence))
        where = f"{sequence} {patience} {attempts} attempts, {read_s:g} s a read"
        row.violations([f"{where}: {one}" for one in problems(*outcome, final=final, attempts=attempts)])
