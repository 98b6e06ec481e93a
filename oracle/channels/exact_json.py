"""JSON as it stands on the wire: nothing is rounded, and nothing is chosen.

A parser rounds a number that neither 64 bits nor a double can hold without a word, and a record whose amount was
changed in the twentieth digit would read as untouched. Here such a number stays the text that was sent, which compares
exactly, since ``spec.values`` reads text in a number's field as the number it names. An object that has a member twice
is refused: which of the two counts is for nobody to say.
"""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Final

import orjson

from spec.canonical import Json

_INT_CHARS_MAX: Final = 20
_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1


def parse_json(data: bytes) -> Json:
    """Parse strict JSON in UTF-8.

    Raises:
        ValueError: it is malformed, nested too deeply, or has a member twice.
    """
    orjson.loads(data)  # refuses what the other parser lets pass: NaN, half surrogate pairs, other encodings
    try:
        value: Json = json.loads(data, parse_int=_whole, parse_float=_fraction, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _whole(text: str) -> int | str:
    if len(text) > _INT_CHARS_MAX:
        return text
    number = int(text)
    return number if _INT_MIN <= number <= _INT_MAX else text


def _fraction(text: str) -> float | str:
    number = float(text)
    shortest = repr(number)
    if shortest == text and not number.is_integer():
        return number
    read = Decimal(number) if number.is_integer() else Decimal(shortest)  # as ``spec.values`` reads a float
    try:
        return number if read == Decimal(text) else text
    except InvalidOperation:  # an exponent that no decimal can hold
        return text


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has a member twice")
    return members
