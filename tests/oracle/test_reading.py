"""Which reading counts: every short sequence of readings, on final and live paths, against rules in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, product, repeat

import anyio
import pytest

from oracle.base import Judgement, Patience, ReadFailed
from oracle.reading import POLL_FIRST_S, POLL_GROWTH, POLL_MAX_S, Reading, read_until_readable, settle_reading
from oracle.retry import WAIT_FIRST_S, RetryPolicy

UNREADABLE, HOLDS, FAILS = "U", "H", "F"
SEQUENCES = ["".join(letters) for length in range(1, 6) for letters in product("UHF", repeat=length)]
POLICY = RetryPolicy(read_attempts=2, read_deadline_s=10)


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class World:
    """A record whose readings follow a sequence; its last letter lasts. Each reading knows its place."""

    def __init__(self, sequence: str) -> None:
        self._letters = enumerate(chain(sequence, repeat(sequence[-1])))
        self.reads = 0

    async def read(self) -> Reading:
        self.reads += 1
        place, letter = next(self._letters)
        if letter == UNREADABLE:
            return ReadFailed(f"{place}{letter}")
        return {"notes": [{"id": f"{place}{letter}"}]}


def judge(reading: Reading) -> Judgement:
    if isinstance(reading, ReadFailed):
        return Judgement(False, False, reading.reason, {})
    name = str(reading["notes"][0]["id"])
    return Judgement(True, name.endswith(HOLDS), name, {})


def settle(
    sequence: str, *, final: bool, patience: Patience, policy: RetryPolicy = POLICY, first: bool = False
) -> tuple[str, int, float]:
    """The reading that counted, the number of reads, and the time that it took."""
    time, world = FakeTime(), World(sequence)

    async def main() -> tuple[Judgement, int]:
        return await settle_reading(
            read=world.read,
            judge=judge,
            final=final,
            patience=patience,
            policy=policy,
            time=time,
            first=await world.read() if first else None,
            jitter=lambda low, high: high,
        )

    judgement, reads = anyio.run(main)
    assert reads == world.reads
    return judgement.reason, reads, time.now_s


def by_the_rules(sequence: str, *, final: bool, patience: Patience) -> tuple[str, int, float]:
    """The rules in plain words, for two read attempts and a retry deadline that is never reached."""
    letters: Iterator[str] = (f"{place}{letter}" for place, letter in enumerate(chain(sequence, repeat(sequence[-1]))))
    reads, now_s = 0, 0.0

    def clean() -> str:
        nonlocal reads, now_s
        reads += 1
        reading = next(letters)
        if reading.endswith(UNREADABLE):
            reads, now_s, reading = reads + 1, now_s + WAIT_FIRST_S, next(letters)
        return reading

    seen = [clean()]
    if final:
        return seen[-1], reads, now_s
    wait_s = POLL_FIRST_S
    while seen[-1].endswith(FAILS) and now_s < patience.timeout_s:
        now_s += min(wait_s, patience.timeout_s - now_s)
        wait_s = min(POLL_MAX_S, POLL_GROWTH * wait_s)
        seen.append(clean())
    now_s += patience.settle_s
    seen.append(clean())
    readable = [reading for reading in seen if not reading.endswith(UNREADABLE)]
    return (readable or seen)[-1], reads, now_s


@pytest.mark.parametrize("patience", [Patience(0, 0), Patience(0.12, 0), Patience(0.12, 2), Patience(60, 1)], ids=str)
def test_a_live_record_is_polled_then_settled(patience: Patience) -> None:
    """For every sequence of up to five readings, the reading that counts, the reads and the time are right."""
    for sequence in SEQUENCES:
        expected = by_the_rules(sequence, final=False, patience=patience)
        actual = settle(sequence, final=False, patience=patience)
        assert actual[:2] == expected[:2], sequence
        assert actual[2] == pytest.approx(expected[2]), sequence


@pytest.mark.parametrize("patience", [Patience(0, 0), Patience(60, 60)], ids=str)
def test_a_final_record_is_read_once(patience: Patience) -> None:
    """Only a reading that is not clean is repeated, and patience plays no part."""
    for sequence in SEQUENCES:
        assert settle(sequence, final=True, patience=patience) == by_the_rules(
            sequence, final=True, patience=patience
        ), sequence


@pytest.mark.parametrize("final", [True, False])
def test_a_first_reading_made_elsewhere_counts_as_one(final: bool) -> None:
    """Whether the first read was made in a batch or here makes no difference."""
    for sequence in SEQUENCES:
        patience = Patience(0.12, 2)
        assert settle(sequence, final=final, patience=patience, first=True) == settle(
            sequence, final=final, patience=patience
        ), sequence


@pytest.mark.parametrize(
    ("sequence", "final", "counts", "reads"),
    [
        ("F", True, "0F", 1),
        ("UH", True, "1H", 2),
        ("H", False, "1H", 2),
        ("FFHF", False, "3F", 4),
        ("HU", False, "0H", 3),
        ("UU", False, "3U", 4),
    ],
)
def test_a_few_sequences_by_hand(sequence: str, final: bool, counts: str, reads: int) -> None:
    """A late change after the contract held is seen; a record lost after a clean reading does not undo it."""
    assert settle(sequence, final=final, patience=Patience(60, 1))[:2] == (counts, reads)


def test_more_attempts_reach_a_later_reading() -> None:
    """The limits are those of the policy."""
    for attempts, counts in ((1, "0U"), (3, "2U"), (4, "3H")):
        policy = RetryPolicy(attempts, 10)
        assert settle("UUUH", final=True, patience=Patience(0, 0), policy=policy)[:2] == (counts, attempts)


@pytest.mark.parametrize(
    ("sequence", "first", "counts", "reads"),
    [("H", False, "0H", 1), ("UF", False, "1F", 2), ("UU", True, "1U", 2), ("F", True, "0F", 1)],
)
def test_a_baseline_is_read_until_it_is_readable(sequence: str, first: bool, counts: str, reads: int) -> None:
    """The plain reader repeats what is not clean by the same limits, and counts every read."""
    time, world = FakeTime(), World(sequence)

    async def main() -> tuple[Reading, int]:
        return await read_until_readable(world.read, POLICY, time, first=await world.read() if first else None)

    reading, made = anyio.run(main)
    assert judge(reading).reason == counts
    assert made == reads == world.reads
