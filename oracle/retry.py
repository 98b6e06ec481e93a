"""Retrying a reading of the record that was not clean. Only reads are ever repeated: they change nothing."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_not_result, wait_exponential

from oracle.base import Timekeeper

WAIT_FIRST_S: Final = 0.05
WAIT_MAX_S: Final = 5.0

T = TypeVar("T")

Jitter = Callable[[float, float], float]
"""A number between two bounds; ``random.uniform`` outside of tests."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long an unreadable record is tried again.

    Waits grow exponentially, each drawn between half and the whole of its length, so that trials that failed together
    do not all come back together. No wait reaches past the deadline, so the last read starts by then.

    Attributes:
        read_attempts: reads in all, the first one included.
        read_deadline_s: seconds from the first unreadable reading after which no further read is started.
    """

    read_attempts: int
    read_deadline_s: float


async def retry_reads(
    read: Callable[[], Awaitable[T]],
    readable: Callable[[T], bool],
    policy: RetryPolicy,
    time: Timekeeper,
    *,
    standing: T,
    jitter: Jitter = random.uniform,
) -> tuple[T, int]:
    """Read again until the record is readable or the policy's limits are reached.

    Args:
        read: reads once; never raises for a record that cannot be read.
        readable: whether a reading is clean.
        policy: the limits.
        time: clock and sleep.
        standing: the reading that was made already; where it is clean, nothing is read.
        jitter: draws the part of each wait that is waited.

    Returns:
        The last reading, and how many reads were made besides the standing one.
    """
    deadline_s = time.monotonic() + policy.read_deadline_s
    growing = wait_exponential(multiplier=WAIT_FIRST_S, max=WAIT_MAX_S)
    reads = -1

    async def attempt() -> T:
        nonlocal reads
        reads += 1
        return await read() if reads else standing

    def over(state: RetryCallState) -> bool:
        return state.attempt_number >= policy.read_attempts or time.monotonic() >= deadline_s

    def wait(state: RetryCallState) -> float:
        longest_s = growing(state)
        return min(jitter(longest_s / 2, longest_s), max(0.0, deadline_s - time.monotonic()))

    def last(state: RetryCallState) -> T:
        assert state.outcome is not None
        result: T = state.outcome.result()
        return result

    retrying = AsyncRetrying(
        sleep=time.sleep, stop=over, wait=wait, retry=retry_if_not_result(readable), retry_error_callback=last
    )
    reading: T = await retrying(attempt)
    return reading, reads
