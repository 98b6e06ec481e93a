"""How a channel says that a record cannot be read: one short reason, and never a credential in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, quote_plus

from oracle.base import ReadFailed
from spec.text import describe

REASON_CHARS_MAX: Final = 200
MASK: Final = "***"


class NoReading(Exception):
    """Raised inside a channel when there is no clean reading; its text is the reason for the report."""


def failed(error: BaseException, what: str = "", secrets: Iterable[str] = ()) -> ReadFailed:
    """Any error of a channel as a value.

    Args:
        error: what was raised; a ``NoReading`` has its reason already.
        what: what was being done, for every other error.
        secrets: values that no reason may show, as they are or as they stand in a URL.
    """
    text = str(error) if isinstance(error, NoReading) else describe(error, what)
    return ReadFailed(without(" ".join(text.split()), secrets)[:REASON_CHARS_MAX])


def without(text: str, secrets: Iterable[str]) -> str:
    """The text with every secret masked, the longest first."""
    spelled = {spelling for secret in secrets if secret for spelling in (secret, quote(secret, ""), quote_plus(secret))}
    for secret in sorted(spelled, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text
