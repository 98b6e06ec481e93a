"""Draws that are the same on every machine and by every version of Python: SHA-256 in counter mode."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of draws that depends on nothing but its name.

    Args:
        name: the parts of its name; another name, other draws.
    """

    __slots__ = ("_drawn", "_root")

    def __init__(self, *name: str | int) -> None:
        self._root = hashlib.sha256("\0".join(map(str, name)).encode()).digest()
        self._drawn = 0

    def below(self, end: int) -> int:
        """A whole number from 0 up to, but not including, ``end``."""
        self._drawn += 1
        digest = hashlib.sha256(self._root + self._drawn.to_bytes(8, "big")).digest()
        return int.from_bytes(digest[:16], "big") % end

    def between(self, first: int, last: int) -> int:
        """A whole number from ``first`` to ``last``, both included."""
        return first + self.below(last - first + 1)

    def one_in(self, many: int) -> bool:
        """True in one of so many cases."""
        return self.below(many) == 0

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All items in another order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in items]
