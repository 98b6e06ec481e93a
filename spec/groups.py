"""Errors that task groups have wrapped."""

from __future__ import annotations


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The plain errors in a group, in order, however deep they are wrapped."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
