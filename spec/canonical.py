"""Canonical JSON and content digests.

Canonical form: keys sorted, no spaces, UTF-8 unescaped, as orjson writes it with ``OPT_SORT_KEYS``.
Every digest of ours is ``"sha256:"`` and the hexadecimal hash of that form.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import orjson

_ALWAYS_FINITE = frozenset({str, int, bool, type(None)})

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
JsonObject = Mapping[str, Json]


def canonical_json(value: object) -> bytes:
    """The one byte string that stands for ``value``.

    Raises:
        TypeError: the value cannot be written as JSON.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def is_finite(value: object) -> bool:
    """Whether no number in a JSON value is NaN or infinite; JSON has neither, and orjson writes null without a word."""
    if type(value) in _ALWAYS_FINITE:
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return _ALWAYS_FINITE.issuperset(map(type, value)) or all(map(is_finite, value))
    if isinstance(value, dict | Mapping):
        return _ALWAYS_FINITE.issuperset(map(type, value.values())) or all(map(is_finite, value.values()))
    return True


def digest_bytes(data: bytes) -> str:
    """``sha256:`` and the hexadecimal SHA-256 of ``data``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def content_digest(value: object) -> str:
    """The digest of a JSON value: equal values, equal digests."""
    return digest_bytes(canonical_json(value))
