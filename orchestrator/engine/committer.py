"""Group commit: journal lines of many trials, one write and one sync, and only then the acknowledgement."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import anyio

from orchestrator.journal import Journal, LineType
from spec.canonical import JsonObject
from spec.clock import Clock


class Entry(NamedTuple):
    """A line on its way into the journal.

    Attributes:
        committed: called with the line's offset in bytes once it is synced, or None where nobody waits for it.
    """

    line: LineType
    key: str | None
    body: JsonObject
    committed: Callable[[int], None] | None = None


class Committer:
    """The only writer of a run.

    Args:
        journal: where lines go.
        group_commit_s: seconds to wait for more lines before a sync; asked anew each time.
        clock: where time comes from.
        acknowledged: called after each group, when all its ``committed`` have been called.
    """

    def __init__(
        self, journal: Journal, *, group_commit_s: Callable[[], float], clock: Clock, acknowledged: Callable[[], None]
    ) -> None:
        self._journal, self._group_commit_s, self._clock = journal, group_commit_s, clock
        self._acknowledged = acknowledged
        self._entries: list[Entry] = []
        self._arrived = anyio.Event()

    def add(self, entry: Entry) -> None:
        """Put a line into the next group."""
        self._entries.append(entry)
        self._arrived.set()

    async def serve(self) -> None:
        """Commit groups until cancelled.

        Raises:
            JournalUnwritable: a write or a sync failed; nothing of the group is acknowledged.
        """
        while True:
            await self._arrived.wait()
            await self._clock.sleep(self._group_commit_s())
            await self.flush()

    async def flush(self) -> None:
        """Commit what has arrived, now."""
        self._arrived = anyio.Event()
        entries, self._entries = self._entries, []
        if not entries:
            return
        offsets = [self._journal.append(entry.line, entry.key, entry.body) for entry in entries]
        with anyio.CancelScope(shield=True):
            await self._journal.commit()
        for entry, offset in zip(entries, offsets, strict=True):
            if entry.committed is not None:
                entry.committed(offset)
        self._acknowledged()
