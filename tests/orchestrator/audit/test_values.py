"""The other value is another one, for every type that a field can have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.audit.values import other_value
from spec.values import FieldType, equal, reads_as

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.text(), st.decimals(-(10**6), 10**6))


@given(SCALARS.map(lambda value: value if value is None or isinstance(value, bool | int | str) else str(value)))
def test_it_differs(value: Any) -> None:
    """Whatever the value and its declared type, the other one is not equal to it."""
    for kind in FieldType:
        assert not equal(other_value(value, kind), value, kind)


@pytest.mark.parametrize(
    ("value", "kind", "other"),
    [
        ("a note", FieldType.TEXT, "a not"),
        ("x", FieldType.TEXT, "xx"),
        ("5.0", FieldType.DECIMAL, "6.0"),
        (7, FieldType.INT, 8),
        ("true", FieldType.BOOL, "false"),
        ("2026-01-31T12:00:00+00:00", FieldType.DATETIME, "2026-01-31T13:00:00+00:00"),
        (None, FieldType.TEXT, "other"),
    ],
)
def test_it_is_near(value: Any, kind: FieldType, other: Any) -> None:
    """A text is cut by one character, a number is one more, a time an hour later: only an exact look tells."""
    assert other_value(value, kind) == other
    assert reads_as(other, kind)
