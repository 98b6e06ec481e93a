"""Typed comparison of record values: when are two values the same?

The contract declares a type a field; a field that it does not name is text. Both sides are read as that type and
compared as what they then are:

* ``int``, ``float``, ``decimal``: exact numbers, so 5 equals 5.0 and 2**53 + 1 does not equal float(2**53). A float
  with a fraction counts as its shortest decimal, which is what was written on the wire. Nothing else is rounded.
* ``bool``: true and false; never equal to a number.
* ``datetime``: ISO 8601. With an offset it is an instant, without one a local time; the two are never equal.
* ``text``: Unicode in NFC, case-sensitive, untrimmed. Values that are no text (numbers, booleans, lists, objects)
  compare as what they are, and are never equal to a text.
* absent and null are one value, which equals nothing else, neither "" nor "None"; NaN equals nothing at all.

A text in a field of another type is parsed, since some channels carry only text; what does not parse is unequal.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from spec.canonical import Json, canonical_json

SHOWN_CHARS_MAX: Final = 80


class FieldType(StrEnum):
    """How a field's values are compared; the rules stand at the top of ``spec.values``."""

    TEXT = "text"
    INT = "int"
    FLOAT = "float"
    DECIMAL = "decimal"
    BOOL = "bool"
    DATETIME = "datetime"


class NotJson(ValueError):
    """Raised when a value is none that JSON can carry, so that nothing can be said about it."""


class Comparison(NamedTuple):
    """Whether two values are the same.

    Attributes:
        equal: they are.
        reason: why not, in one clause; "" where they are equal.
    """

    equal: bool
    reason: str


class _Sort(StrEnum):
    """What a value turned out to be."""

    NULL = "null"
    TEXT = "text"
    NUMBER = "number"
    BOOL = "bool"
    INSTANT = "instant"
    LOCAL_TIME = "local time"
    JSON = "json"
    NAN = "nan"
    MISREAD = "misread"


class _Typed(NamedTuple):
    """A value as its type reads it: equal values, equal pairs (NaN and what does not parse excepted)."""

    sort: _Sort
    value: Hashable


_TEXT: Final = FieldType.TEXT
_SHOWN_BITS_MAX: Final = 256
_INCOMPARABLE: Final = (_Sort.NAN, _Sort.MISREAD)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?")
_FRACTION: Final = re.compile(r"(?<=:[0-9]{2})([.,][0-9]{6})([0-9]+)")


def equal(actual: Json, expected: Json, kind: FieldType) -> bool:
    """Whether two values are the same; ``compare`` without the reason, for the hot path.

    Raises:
        NotJson: a value is none that JSON can carry.
    """
    if kind is _TEXT and type(actual) is str and type(expected) is str:
        # ASCII is its own NFC; a text that is not can still normalise to ASCII (the Kelvin sign is a K).
        if actual == expected:
            return True
        return not (actual.isascii() and expected.isascii()) and _nfc(actual) == _nfc(expected)
    one, other = _read(actual, kind), _read(expected, kind)
    return one == other and one.sort not in _INCOMPARABLE


def compare(actual: Json, expected: Json, kind: FieldType) -> Comparison:
    """Compare a value that was read with the one that was asked for.

    Raises:
        NotJson: a value is none that JSON can carry.
    """
    if equal(actual, expected, kind):
        return Comparison(equal=True, reason="")
    for value in (actual, expected):
        if _read(value, kind).sort is _Sort.MISREAD:
            return Comparison(equal=False, reason=f"{show(value)} does not read as {kind.value}")
    return Comparison(equal=False, reason=f"{show(actual)} is not {show(expected)}")


def reads_as(value: Json, kind: FieldType) -> bool:
    """Whether a value can be equal to anything in a field of this type."""
    try:
        return _read(value, kind).sort not in _INCOMPARABLE
    except NotJson:
        return False


def content_key(value: Json, kind: FieldType) -> Hashable:
    """A key that is the same exactly where the content of a field is the same.

    It differs from ``equal`` in one point: a value that does not parse, and NaN, are the same content as themselves,
    so a record that holds one has not changed because of it.

    Raises:
        NotJson: the value is none that JSON can carry.
    """
    typed = _read(value, kind)
    return _plain(value) if typed.sort is _Sort.MISREAD else typed


def show(value: Json) -> str:
    """A value as people read it in a reason, at most ``SHOWN_CHARS_MAX`` characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        text = repr(value[:SHOWN_CHARS_MAX])
    elif isinstance(value, int) and value.bit_length() > _SHOWN_BITS_MAX:
        text = f"a number of {value.bit_length()} bits"
    else:
        text = repr(value)
    return text if len(text) <= SHOWN_CHARS_MAX else text[: SHOWN_CHARS_MAX - 1] + "…"


def _read(value: Json, kind: FieldType) -> _Typed:
    if kind is _TEXT or value is None:
        return _plain(value)
    if isinstance(value, str):
        return _PARSERS[kind](value)
    plain = _plain(value)
    return plain if plain.sort is _NATIVE[kind] or plain.sort is _Sort.NAN else _Typed(_Sort.MISREAD, None)


def _plain(value: Json) -> _Typed:
    """A value as what it is by itself."""
    if value is None:
        return _Typed(_Sort.NULL, None)
    if isinstance(value, str):
        return _Typed(_Sort.TEXT, _nfc(value))
    if isinstance(value, bool):
        return _Typed(_Sort.BOOL, value)
    if isinstance(value, int):
        return _Typed(_Sort.NUMBER, Decimal(value))
    if isinstance(value, float):
        return _Typed(_Sort.NAN, None) if math.isnan(value) else _Typed(_Sort.NUMBER, _exact(value))
    return _Typed(_Sort.JSON, _container_key(value))


def _exact(value: float) -> Decimal:
    """A whole float is what it is; a fraction is the shortest decimal that names it."""
    return Decimal(value) if math.isinf(value) or value.is_integer() else Decimal(repr(value))


def _container_key(value: Mapping[str, Json] | Sequence[Json]) -> bytes:
    try:
        return canonical_json(value)
    except TypeError as error:
        raise NotJson(f"a value of type {type(value).__name__} is not JSON") from error


def _nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _parse_number(text: str) -> _Typed:
    if _NUMBER.fullmatch(text) is None:
        return _Typed(_Sort.MISREAD, None)
    return _Typed(_Sort.NUMBER, Decimal(text))


def _parse_float(text: str) -> _Typed:
    """The float that the text names; digits alone are a whole number, which no float may round."""
    number = _parse_number(text)
    if number.sort is _Sort.MISREAD or text.lstrip("+-").isdigit() or math.isinf(float(text)):
        return number
    return _Typed(_Sort.NUMBER, _exact(float(text)))


def _parse_int(text: str) -> _Typed:
    number = _parse_number(text)
    whole = isinstance(number.value, Decimal) and number.value == number.value.to_integral_value()
    return number if whole else _Typed(_Sort.MISREAD, None)


def _parse_bool(text: str) -> _Typed:
    word = text.lower()
    return _Typed(_Sort.BOOL, word == "true") if word in ("true", "false") else _Typed(_Sort.MISREAD, None)


def _parse_datetime(text: str) -> _Typed:
    """Digits behind the microsecond are kept beside the moment, since ``datetime`` would drop them unseen."""
    fraction = _FRACTION.search(text)
    finer = fraction[2].rstrip("0") if fraction else ""
    try:
        moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
    except ValueError:
        return _Typed(_Sort.MISREAD, None)
    return _Typed(_Sort.LOCAL_TIME if moment.tzinfo is None else _Sort.INSTANT, (moment, finer))


_PARSERS: Final[Mapping[FieldType, Callable[[str], _Typed]]] = {
    FieldType.INT: _parse_int,
    FieldType.FLOAT: _parse_float,
    FieldType.DECIMAL: _parse_number,
    FieldType.BOOL: _parse_bool,
    FieldType.DATETIME: _parse_datetime,
}

_NATIVE: Final[Mapping[FieldType, _Sort]] = {
    FieldType.INT: _Sort.NUMBER,
    FieldType.FLOAT: _Sort.NUMBER,
    FieldType.DECIMAL: _Sort.NUMBER,
    FieldType.BOOL: _Sort.BOOL,
    FieldType.DATETIME: _Sort.INSTANT,
}
