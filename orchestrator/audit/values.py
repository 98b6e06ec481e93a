"""Another value than the right one, near enough that only an exact comparison tells the two apart (pure)."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

from spec.canonical import Json
from spec.values import FieldType, equal

_NUMBERS: Final = (FieldType.INT, FieldType.FLOAT, FieldType.DECIMAL)


def other_value(value: Json, kind: FieldType = FieldType.TEXT) -> Json:
    """A value of the same type that is not equal to ``value``: a number one more, a text cut by one character."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return _other_text(value, kind)
    if value is None:
        return 1 if kind in _NUMBERS else "other"
    return None


def unlike(value: Json, right: Json, kind: FieldType = FieldType.TEXT) -> Json:
    """Another value than ``value`` that is not the right one either; of a bool, where both are taken, itself."""
    found = other_value(value, kind)
    if found != right:
        return found
    return value + "x" if isinstance(value, str) and kind is FieldType.TEXT else other_value(found, kind)


def _other_text(text: str, kind: FieldType) -> str:
    if kind in _NUMBERS:
        try:
            return str(Decimal(text) + 1)
        except InvalidOperation:
            return "1"
    if kind is FieldType.BOOL:
        return "false" if text.lower() == "true" else "true"
    if kind is FieldType.DATETIME:
        try:
            return (datetime.fromisoformat(text) + timedelta(hours=1)).isoformat()
        except (ValueError, OverflowError):
            return "2001-01-01T00:00:00"
    cut = text[:-1]
    return cut if cut and not equal(cut, text, kind) else text + "x"
