"""JSON is read as it was sent, or not at all."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from oracle.channels.exact_json import parse_json
from spec.canonical import Json
from spec.values import FieldType, equal

texts = st.text(st.characters(codec="utf-8"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@given(value=json_values)
def test_whatever_json_holds_is_read_as_it_is(value: Json) -> None:
    """A value that 64 bits and doubles can hold comes back equal."""
    assert parse_json(orjson.dumps(value)) == value


def spelled(digits: int, places: int) -> str:
    """A number with so many digits behind the point."""
    text = str(digits).rjust(places + 1, "0")
    return f"{text[:-places]}.{text[-places:]}" if places else text


@given(digits=st.integers(0, 10**40), places=st.integers(0, 40))
@example(digits=1_192_092_895_507_812_500_000, places=1)
def test_no_number_is_rounded(digits: int, places: int) -> None:
    """A number of any length compares equal to itself and to no neighbour."""
    number, neighbour = spelled(digits, places), spelled(digits + 1, places)
    read = parse_json(number.encode())
    assert equal(read, number, FieldType.DECIMAL)
    assert not equal(read, neighbour, FieldType.DECIMAL)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"9223372036854775807", 2**63 - 1),
        (b"9223372036854775808", "9223372036854775808"),
        (b"0.1", 0.1),
        (b"1.50", 1.5),
        (b"0.1000000000000000055", "0.1000000000000000055"),
        (b"1e-400", "1e-400"),
        (b"1e-9999999999999999999999", "1e-9999999999999999999999"),
    ],
)
def test_what_a_double_cannot_hold_stays_text(data: bytes, value: Json) -> None:
    """The border runs where the value would change."""
    assert parse_json(data) == value


@pytest.mark.parametrize(
    "data",
    [
        b"", b"{", b"[1] x", b"NaN", b"-Infinity", b"1e400", b'"\\ud800"', b'"\xff"', "[1]".encode("utf-16"),
        b'{"a": 1, "a": 2}', b'[{"b": {"a": 1, "c": 2, "a": 1}}]', b"[" * 100_000, b"[" * 1023 + b"]" * 1023,
    ],
)  # fmt: skip
def test_what_is_no_strict_json_is_refused(data: bytes) -> None:
    """Malformed text, a member that stands twice and bottomless nesting are errors of one kind."""
    with pytest.raises(ValueError):
        parse_json(data)
