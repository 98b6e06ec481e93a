"""When a record is read after the arm, and which reading counts.

The environment is sealed first; then a record of a *final* path (a store at rest, a snapshot, a file) is read once. A
*live* record (a database, a service) can still move: it is polled until the contract holds or its time is over, and is
read once more after it has settled; the last readable reading counts. A reading that is not clean is repeated within
the limits of the retry policy, wherever it occurs.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Final

from oracle.base import Judgement, Patience, ReadFailed, Timekeeper
from oracle.retry import Jitter, RetryPolicy, retry_reads
from spec.reading import Tables

POLL_FIRST_S: Final = 0.05
POLL_MAX_S: Final = 1.0
POLL_GROWTH: Final = 1.5

Reading = Tables | ReadFailed


async def read_until_readable(
    read: Callable[[], Awaitable[Reading]],
    policy: RetryPolicy,
    time: Timekeeper,
    *,
    first: Reading | None = None,
    jitter: Jitter = random.uniform,
) -> tuple[Reading, int]:
    """Read a record until the reading is clean or the policy's limits are reached.

    Args:
        read: reads the record once.
        policy: the limits.
        time: clock and sleep.
        first: a reading that was made already, in a batch with others.
        jitter: draws the waits.

    Returns:
        The last reading, and how often the record was read, ``first`` included.
    """
    standing = await read() if first is None else first
    reading, reads = await retry_reads(read, _is_clean, policy, time, standing=standing, jitter=jitter)
    return reading, reads + 1


async def settle_reading(
    *,
    read: Callable[[], Awaitable[Reading]],
    judge: Callable[[Reading], Judgement],
    final: bool,
    patience: Patience,
    policy: RetryPolicy,
    time: Timekeeper,
    first: Reading | None = None,
    jitter: Jitter = random.uniform,
) -> tuple[Judgement, int]:
    """Read a record as its path asks for, and judge it.

    Args:
        read: reads the record once.
        judge: judges one reading (pure).
        final: the path is final, so that one clean reading is the truth.
        patience: how long a live record is waited for.
        policy: the limits for readings that are not clean.
        time: clock and sleep.
        first: a reading that was made already, in a batch with others.
        jitter: draws the waits of the retries.

    Returns:
        The judgement that counts, and how often the record was read, ``first`` included.
    """
    reader = _Reader(read, judge, policy, time, jitter)
    end_s = time.monotonic() + patience.timeout_s
    judgement = await reader.clean(first)
    if final:
        return judgement, reader.reads
    polled = await _poll(reader, judgement, end_s, time)
    await time.sleep(patience.settle_s)
    settled = await reader.clean()
    return (settled if settled.readable or not polled.readable else polled), reader.reads


async def _poll(reader: _Reader, judgement: Judgement, end_s: float, time: Timekeeper) -> Judgement:
    """Poll until the contract holds, time is over, or a reading stays unclean up to the policy's limits.

    Returns the last readable judgement, or the last one where none was readable.
    """
    wait_s = POLL_FIRST_S
    last = judgement
    while judgement.readable and not judgement.holds and (left_s := end_s - time.monotonic()) > 0:
        await time.sleep(min(wait_s, left_s))
        wait_s = min(wait_s * POLL_GROWTH, POLL_MAX_S)
        judgement = await reader.clean()
        if judgement.readable:
            last = judgement
    return last


class _Reader:
    """Reads and judges one record, repeats what is not clean, and counts the reads."""

    def __init__(
        self,
        read: Callable[[], Awaitable[Reading]],
        judge: Callable[[Reading], Judgement],
        policy: RetryPolicy,
        time: Timekeeper,
        jitter: Jitter,
    ) -> None:
        self._read, self._judge = read, judge
        self._policy, self._time, self._jitter = policy, time, jitter
        self.reads = 0

    async def clean(self, already: Reading | None = None) -> Judgement:
        """A readable judgement, or the last unreadable one when the limits are used up."""
        standing = await self._once() if already is None else self._judge(already)
        if standing.readable:
            self.reads += 1
            return standing
        judgement, reads = await retry_reads(
            self._once, _is_readable, self._policy, self._time, standing=standing, jitter=self._jitter
        )
        self.reads += 1 + reads
        return judgement

    async def _once(self) -> Judgement:
        return self._judge(await self._read())


def _is_readable(judgement: Judgement) -> bool:
    return judgement.readable


def _is_clean(reading: Reading) -> bool:
    return not isinstance(reading, ReadFailed)
