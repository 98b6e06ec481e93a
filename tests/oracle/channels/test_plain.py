"""Values of a database become JSON that the judge compares as what they are."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.channels.failing import NoReading
from oracle.channels.plain import plain, plain_rows
from spec.canonical import Json
from spec.values import FieldType, equal


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (1.5, 1.5),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+2"), "100"),
        (datetime(2026, 1, 31, 12, 30, tzinfo=UTC), "2026-01-31T12:30:00+00:00"),
        (datetime(2026, 1, 31, 12, 30, 0, 5), "2026-01-31T12:30:00.000005"),
        (date(2026, 1, 31), "2026-01-31"),
        (time(1, 2), "01:02:00"),
        (timedelta(days=1, seconds=90), "P1DT90S"),
        (-timedelta(seconds=1, microseconds=500_000), "-P0DT1.5S"),
        (b"\x00\xff", "AP8="),
        (memoryview(b"ab"), "YWI="),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Colour.RED, "red"),
        (ip_address("10.0.0.1"), "10.0.0.1"),
        ([1, Decimal("2.0")], [1, "2.0"]),
        ((1, None), [1, None]),
        ({"a": [date(2026, 1, 1)]}, {"a": ["2026-01-01"]}),
    ],
)
def test_every_kind_of_value_has_its_json(value: Any, expected: Json) -> None:
    """What drivers answer with is written down without loss."""
    found = plain(value)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_what_json_has_not_is_refused(value: Any) -> None:
    """A NaN would be written as null, and so be lost without a word."""
    with pytest.raises(NoReading, match="cannot be read"):
        plain([value])


def test_an_unknown_type_is_refused_with_its_column() -> None:
    """Nothing is guessed about a type that nobody has thought of."""
    with pytest.raises(NoReading, match="column 'b': a value of type object cannot be read"):
        plain_rows(["a", "b"], [(1, object())], {})


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_a_decimal_is_equal_to_itself(value: Decimal) -> None:
    """A number of any scale is compared as exactly that number."""
    assert equal(plain(value), str(value), FieldType.DECIMAL)


@given(st.datetimes(timezones=st.none() | st.just(UTC)))
def test_a_moment_is_equal_to_itself(value: datetime) -> None:
    """A moment is compared as that moment, to the microsecond."""
    assert equal(plain(value), value.isoformat(" "), FieldType.DATETIME)


def test_converters_read_first() -> None:
    """A store's own spelling of a type is read before the value is looked at."""
    rows = plain_rows(["a", "b"], [(1, 0), (2, 1)], {1: bool})
    assert rows == [{"a": 1, "b": False}, {"a": 2, "b": True}]
