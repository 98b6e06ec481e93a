"""What a checker finds."""

from __future__ import annotations

from typing import NamedTuple


class Violation(NamedTuple):
    """One thing that must not be.

    Attributes:
        invariant: I1 to I8.
        text: what was found and where, one sentence.
    """

    invariant: str
    text: str

    def __str__(self) -> str:
        """As it is printed."""
        return f"{self.invariant}: {self.text}"
