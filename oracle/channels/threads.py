"""Reading in threads, for channels whose libraries block: so a slow record holds up nobody else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

import anyio
import anyio.to_thread

from oracle.base import ReadFailed
from oracle.channels.failing import NoReading, failed
from spec.canonical import JsonObject
from spec.reading import ReadPath, Tables


class Leash:
    """How long a reading may go on; asked from the thread that reads.

    Args:
        seconds: from now on.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._cut = threading.Event()

    def cut(self) -> None:
        """End the reading as soon as it looks: nobody waits for it any more."""
        self._cut.set()

    def is_over(self) -> bool:
        """Whether it has to end."""
        return self._cut.is_set() or time.monotonic() >= self._end

    def check(self) -> None:
        """Go on only within the time.

        Raises:
            NoReading: it is over.
        """
        if self.is_over():
            raise NoReading(self.reason)

    @property
    def reason(self) -> str:
        """What is told of a reading that took too long."""
        return f"the record was not read within {self.seconds:g} s"


Work = Callable[[JsonObject, Leash], Tables | ReadFailed]
"""Reads one record by its address, in a thread; may raise."""


async def read_in_threads(
    paths: Sequence[ReadPath], work: Work, limiter: anyio.CapacityLimiter, reading_s: float
) -> Sequence[Tables | ReadFailed]:
    """Read several records at once; answers in order.

    Args:
        paths: where they are.
        work: reads one of them.
        limiter: how many threads there may be.
        reading_s: seconds that one reading may take, from when its turn has come.
    """
    answers: list[Tables | ReadFailed] = [ReadFailed("not read")] * len(paths)

    async def read_one(place: int, where: JsonObject) -> None:
        leash: list[Leash] = []
        try:
            answers[place] = await anyio.to_thread.run_sync(
                partial(_answer, work, where, reading_s, leash), abandon_on_cancel=True, limiter=limiter
            )
        finally:
            for one in leash:
                one.cut()

    async with anyio.create_task_group() as tasks:
        for place, path in enumerate(paths):
            tasks.start_soon(read_one, place, path.where)
    return answers


def _answer(work: Work, where: JsonObject, reading_s: float, leash: list[Leash]) -> Tables | ReadFailed:
    leash.append(Leash(reading_s))
    try:
        return work(where, leash[0])
    except Exception as error:  # noqa: BLE001 - a record that cannot be read is a value, whatever the reason
        return failed(error, "reading")
