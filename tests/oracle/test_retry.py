"""Retries of readings: bounded by attempts and by a deadline, waiting longer each time."""

from __future__ import annotations

from itertools import pairwise

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.retry import WAIT_FIRST_S, WAIT_MAX_S, Jitter, RetryPolicy, retry_reads


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept_s: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds


class Reads:
    """A record that answers with the given readings in turn, and takes its time."""

    def __init__(self, time: FakeTime, readings: list[str], read_s: float = 0.0) -> None:
        self._time, self._readings, self._read_s = time, iter(readings), read_s

    async def read(self) -> str:
        self._time.now_s += self._read_s
        return next(self._readings)


def longest(low: float, high: float) -> float:
    return high


def retry(
    reads: Reads, time: FakeTime, policy: RetryPolicy, standing: str = "bad 0", jitter: Jitter = longest
) -> tuple[str, int]:
    async def main() -> tuple[str, int]:
        return await retry_reads(
            reads.read, lambda reading: reading == "good", policy, time, standing=standing, jitter=jitter
        )

    return anyio.run(main)


def test_a_clean_reading_is_not_repeated() -> None:
    """Nothing is read or waited for where the standing reading is clean."""
    time = FakeTime()
    assert retry(Reads(time, []), time, RetryPolicy(5, 30), standing="good") == ("good", 0)
    assert time.slept_s == []


def test_it_stops_at_the_first_clean_reading() -> None:
    """What comes after it is never read."""
    time = FakeTime()
    assert retry(Reads(time, ["bad 1", "good", "bad 3"]), time, RetryPolicy(5, 30)) == ("good", 2)


@given(st.integers(1, 8))
def test_all_reads_count_towards_the_attempts(attempts: int) -> None:
    """The standing reading is the first attempt; the last reading is the answer."""
    time = FakeTime()
    reading, reads = retry(Reads(time, [f"bad {n}" for n in range(1, 20)]), time, RetryPolicy(attempts, 1000))
    assert reads == attempts - 1
    assert reading == f"bad {attempts - 1}"


def test_waits_double_up_to_their_bound() -> None:
    """A record that stays away is asked less and less often."""
    time = FakeTime()
    retry(Reads(time, ["bad"] * 12), time, RetryPolicy(12, 1000))
    assert time.slept_s[0] == WAIT_FIRST_S
    assert all(later == min(2 * earlier, WAIT_MAX_S) for earlier, later in pairwise(time.slept_s))
    assert time.slept_s[-1] == WAIT_MAX_S


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_jitter_draws_between_half_and_the_whole_wait(part: float) -> None:
    """Trials that failed together do not all come back together, and none comes back at once."""
    time = FakeTime()
    retry(
        Reads(time, ["bad"] * 3),
        time,
        RetryPolicy(3, 1000),
        jitter=lambda low, high: low + part * (high - low),
    )
    assert time.slept_s == pytest.approx([WAIT_FIRST_S * (1 + part) / 2, WAIT_FIRST_S * (1 + part)])


@given(st.floats(0, 20), st.floats(0, 3))
def test_no_read_starts_after_the_deadline(deadline_s: float, read_s: float) -> None:
    """No wait reaches past it, and the time that reads take counts too."""
    time = FakeTime()
    started: list[float] = []

    class Timed(Reads):
        async def read(self) -> str:
            started.append(time.now_s)
            return await super().read()

    retry(Timed(time, ["bad"] * 1000, read_s), time, RetryPolicy(1000, deadline_s))
    assert all(moment <= 100.0 + deadline_s + 1e-9 for moment in started)
    assert time.now_s >= 100.0 + deadline_s - 1e-9


def test_an_error_of_the_reader_is_not_swallowed() -> None:
    """A reader that raises is broken; only readings that are not clean are repeated."""
    time = FakeTime()
    with pytest.raises(ConnectionError):
        retry(Broken(time, []), time, RetryPolicy(5, 30))


class Broken(Reads):
    async def read(self) -> str:
        raise ConnectionError
