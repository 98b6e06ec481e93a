"""Foreign errors as text that every hop and every file can carry, and the nearest of known names.

Arms, providers and channels raise what they like, and an exception may lie about itself: its text can be endless, hold
half a surrogate pair, which no JSON can, or fail to be made at all. None of that may end a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

DETAIL_CHARS_MAX: Final = 500


def describe(error: BaseException, what: str = "") -> str:
    """An exception as bounded text in UTF-8: ``what: Type: its text`` without the parts that are empty.

    Args:
        error: whatever was raised.
        what: what was being done.
    """
    name = type.__dict__["__name__"].__get__(type(error))  # the true one, whatever its metaclass says
    try:
        text = f"{error}"
    except BaseException:  # noqa: BLE001 - it may raise anything, an exit of the process too
        text = "(its text cannot be had)"
    return clean(": ".join(part for part in (what, name, text) if part))


def clean(text: str) -> str:
    """The text in UTF-8, cut to ``DETAIL_CHARS_MAX``; what UTF-8 cannot hold is a question mark."""
    return text[:DETAIL_CHARS_MAX].encode(errors="replace").decode()


def nearest(word: str, known: Sequence[str]) -> str:
    """``did you mean ...?`` with the known name nearest to ``word``, or all of them where none is near."""
    folded = {name.lower(): name for name in reversed(known)}
    found = get_close_matches(word[:64].lower(), folded, n=1, cutoff=0.6)
    if found:
        return f"did you mean {folded[found[0]]!r}?"
    return "known: " + ", ".join(known) if known else ""
