"""Names of databases: each tells which run made it and when, so that one that was left behind can be told and removed.

``to_<tag>_<time>_<part>``, such as ``to_k3f9a2c1bd_20261201t030405_007``. While a run lives it holds an advisory lock
that its tag names; a server gives that lock back when the run's connection ends, however it ends.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Final, NamedTuple

TEMPLATE: Final = "template"
"""The part of the name of a run's template."""
_TAG_BYTES: Final = 5
_NAME: Final = re.compile(r"to_([0-9a-f]{10})_([0-9]{8}t[0-9]{6})_[a-z0-9]+")
_NO_DIGIT: Final = re.compile(r"[^0-9]")
LIKE: Final = r"to\_%"
"""Matches every such name, and some others."""


class RunTag(NamedTuple):
    """One run on one server."""

    tag: str
    """Ten hexadecimal digits."""
    began: str
    """UTC, as ``20261201t030405``."""

    @property
    def lock(self) -> int:
        """The number of the advisory lock that the run holds, a signed integer of 64 bits."""
        return int.from_bytes(hashlib.sha256(f"trial-orchestrator {self.tag}".encode()).digest()[:8], signed=True)

    def name(self, part: str) -> str:
        """The name of one of the run's databases.

        Args:
            part: lower-case letters and digits.
        """
        return f"to_{self.tag}_{self.began}_{part}"


def new_tag(utc_now: str, random_bytes: Callable[[int], bytes] = secrets.token_bytes) -> RunTag:
    """A tag that no other run has.

    Args:
        utc_now: ISO 8601, as a clock gives it.
        random_bytes: where the tag comes from.
    """
    digits = _NO_DIGIT.sub("", utc_now)
    return RunTag(random_bytes(_TAG_BYTES).hex(), f"{digits[:8]}t{digits[8:14]}")


def tag_of(name: str) -> RunTag | None:
    """The run that made a database; None for any other name."""
    found = _NAME.fullmatch(name)
    return RunTag(found.group(1), found.group(2)) if found else None
