"""Values of a database as plain JSON, such that ``spec.values`` compares them as what they are.

A decimal becomes its digits as text, since a float would round it; moments are ISO 8601, bytes are base64, and a NaN
or an infinite number is refused, since JSON has neither.
"""

from __future__ import annotations

import base64
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from types import NoneType
from typing import Any, Final

from oracle.channels.failing import NoReading
from spec.canonical import Json
from spec.reading import Record

PLAIN: Final = frozenset({NoneType, bool, int, str})
"""Types that stand for themselves."""

_PLAIN_OR_FLOAT: Final = PLAIN | {float}

Converters = Mapping[int, Callable[[Any], Any]]
"""Place of a column -> what its values are read through first; for a store that has no type for what they mean."""


def plain_rows(names: Sequence[str], rows: Sequence[Sequence[Any]], converters: Converters) -> list[Record]:
    """Rows of a cursor as records.

    Args:
        names: the columns.
        rows: their values, in the same order.
        converters: see ``Converters``.

    Raises:
        NoReading: a value cannot be JSON.
    """
    if not names or not rows:
        return [{} for _ in rows]
    columns = [
        _column(name, column, converters.get(place))
        for place, (name, column) in enumerate(zip(names, zip(*rows, strict=True), strict=True))
    ]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(value: Any) -> Json:  # noqa: ANN401 - a driver answers with values of any type
    """One value as JSON.

    Raises:
        NoReading: it cannot be.
    """
    if type(value) in PLAIN:
        known: Json = value
        return known
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            return convert(value)
    raise NoReading(f"a value of type {type(value).__name__} cannot be read")


def _column(name: str, values: Sequence[Any], convert: Callable[[Any], Any] | None) -> Sequence[Json]:
    """The values of one column; those that stand for themselves are not looked at one by one."""
    if convert is not None:
        values = list(map(convert, values))
    kinds = set(map(type, values))
    if kinds <= PLAIN:
        return values
    try:
        if kinds <= _PLAIN_OR_FLOAT:
            for value in values:
                if type(value) is float:
                    _float(value)
            return values
        return list(map(plain, values))
    except NoReading as error:
        raise NoReading(f"column {name!r}: {error}") from None


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise NoReading(f"the number {value} cannot be read")
    return value


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise NoReading(f"the number {value} cannot be read")
    return format(value, "f")


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode()


def _list(value: Sequence[Any]) -> list[Json]:
    return [plain(item) for item in value]


def _object(value: Mapping[Any, Any]) -> dict[str, Json]:
    return {str(name): plain(item) for name, item in value.items()}


def _days(value: timedelta) -> str:
    """A duration in ISO 8601, in days and seconds; both negative where it is."""
    sign, whole = ("-", -value) if value < timedelta() else ("", value)
    seconds = Decimal(whole.seconds) + Decimal(whole.microseconds) / 1_000_000
    return f"{sign}P{whole.days}DT{seconds.normalize():f}S"


def _iso(value: datetime | date | time) -> str:
    return value.isoformat()


_CONVERSIONS: Final[Sequence[tuple[type | tuple[type, ...], Callable[[Any], Json]]]] = (
    (bool, bool),
    (float, _float),
    (Decimal, _decimal),
    ((datetime, date, time), _iso),
    (timedelta, _days),
    (uuid.UUID, str),
    ((bytes, bytearray, memoryview), _base64),
    (Enum, lambda value: plain(value.value)),
    ((str, IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network), str),
    (int, int),
    (Mapping, _object),
    ((list, tuple), _list),
)
