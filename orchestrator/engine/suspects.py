"""Trials that ran in a worker when it died: one of them may have killed it.

They are repeated in groups of at most half the size, each group in a worker that it has for itself, so that a killer is
found among n trials after about log2(n) further deaths and every other trial meets it at most that often. A group of
one is a trial alone. While groups wait, half of the workers are kept for them, so that the rest of the run goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from orchestrator.engine.links import WorkerLink


class Suspects:
    """Groups that wait for a worker of their own, and the workers that are kept for them."""

    def __init__(self) -> None:
        self._groups: deque[list[int]] = deque()
        self._kept: dict[WorkerLink, None] = {}
        self._busy: set[WorkerLink] = set()

    @property
    def any(self) -> bool:
        """Whether a group waits or a worker is kept."""
        return bool(self._groups or self._kept)

    def add(self, ordinals: Sequence[int]) -> None:
        """Have the trials of a worker that died repeated, as two groups."""
        half = (len(ordinals) + 1) // 2
        self._groups += [list(part) for part in (ordinals[:half], ordinals[half:]) if part]

    def waiting(self) -> list[int]:
        """The trials of the groups that wait."""
        return [ordinal for group in self._groups for ordinal in group]

    def reserve(self, places: Sequence[WorkerLink], *, all_of_them: bool) -> None:
        """Keep as many places as there are groups, at most half of them, those with the fewest trials first.

        Args:
            places: the filled places.
            all_of_them: whether nothing else is left to run, so that every place may be kept.
        """
        self._busy = {link for link in self._busy if link.held}
        wanted = len(self._groups) + len(self._busy)
        if not wanted:
            self._kept.clear()
            return
        wanted = min(wanted, len(places) if all_of_them else max(1, len(places) // 2))
        idle_first = sorted(places, key=lambda link: (link not in self._busy, link not in self._kept, link.held))
        self._kept = dict.fromkeys(idle_first[:wanted])

    def leave(self, link: WorkerLink) -> None:
        """A place is empty."""
        self._kept.pop(link, None)
        self._busy.discard(link)

    def is_kept(self, link: WorkerLink) -> bool:
        """Whether nothing but groups may be leased to a place."""
        return link in self._kept

    def is_busy(self, link: WorkerLink) -> bool:
        """Whether a group is at work at a place."""
        return link in self._busy

    def take(self, link: WorkerLink) -> list[int]:
        """The group that may go to a kept place now; empty where none may."""
        if link.held or not self._groups or link not in self._kept:
            return []
        self._busy.add(link)
        return self._groups.popleft()
