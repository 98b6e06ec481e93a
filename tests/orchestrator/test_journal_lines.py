"""A line of a journal has exactly the bytes that the format promises."""

from __future__ import annotations

import json
import math
from typing import Any, Final
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.journal import LINE_BYTES_MAX, TERMINAL, Line, LineType
from orchestrator.journal.lines import FIRST_PREV, FRAME_FIELDS, frame, is_right

AT: Final = "2026-01-31T12:00:00.000000Z"

_text = st.text(st.characters(exclude_categories=["Cs"]))
_plain = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
_json: st.SearchStrategy[Any] = st.recursive(
    _plain | _text, lambda inner: st.lists(inner) | st.dictionaries(_text, inner), max_leaves=8
)
_bodies = st.dictionaries(_text.filter(lambda name: name not in FRAME_FIELDS), _json, max_size=5)


def test_the_bytes_of_a_line() -> None:
    """Frame fields first and in order, then the body as given, then the crc in exactly 18 bytes and a line break."""
    data, crc = frame(7, "1c291ca3", LineType.SCORED, AT, "a::t::t0", {"attempt": 1, "row": {"b": None, "a": 2}})
    expected = (
        b'{"seq":7,"prev":"1c291ca3","type":"scored","at":"2026-01-31T12:00:00.000000Z","key":"a::t::t0",'
        b'"attempt":1,"row":{"b":null,"a":2}'
    )
    assert data[:-19] == expected
    assert data[-19:] == b',"crc":"%08x"}\n' % crc32(expected)
    assert crc == f"{crc32(expected):08x}"


def test_the_shortest_line() -> None:
    """Without key and body nothing stands between time and crc."""
    data, crc = frame(0, FIRST_PREV, LineType.NOTE, AT, None, {})
    assert data.decode() == f'{{"seq":0,"prev":"00000000","type":"note","at":"{AT}","crc":"{crc}"}}\n'


@given(seq=st.integers(0, 2**63), key=st.none() | _text, body=_bodies, line_type=st.sampled_from(LineType))
def test_any_json_body_comes_back(seq: int, key: str | None, body: dict[str, Any], line_type: LineType) -> None:
    """Whatever JSON goes in comes back equal, on one line that any JSON reader reads and that checks itself."""
    data = frame(seq, "0123abcd", line_type, AT, key, body).data
    assert data.count(b"\n") == 1
    assert is_right(data)
    line = Line(seq, line_type, key, 0, data)
    assert line.body() == body
    assert json.loads(data) == line.fields()
    assert line.fields() == {
        "seq": seq,
        "prev": "0123abcd",
        "type": line_type.value,
        "at": AT,
        **({} if key is None else {"key": key}),
        **body,
        "crc": data[-11:-3].decode(),
    }


@given(body=_bodies, where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_is_right(body: dict[str, Any], where: float, bit: int) -> None:
    """A line with any one bit flipped does not check."""
    data = bytearray(frame(3, "0123abcd", LineType.NOTE, AT, "k", body).data)
    data[int(where * len(data))] ^= 1 << bit
    assert not is_right(bytes(data))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("nest", ["plain", "object", "list", "tuple"])
def test_numbers_that_json_has_not_are_refused(number: float, nest: str) -> None:
    """NaN and the infinities are refused at any depth, and the message names the field."""
    value: Any = {"plain": number, "object": {"a": {"b": number}}, "list": [1.0, [number]], "tuple": (number,)}[nest]
    with pytest.raises(ValueError, match=r"a spent line must hold finite numbers only, usd does not"):
        frame(1, "0123abcd", LineType.SPENT, AT, "k", {"attempt": 1, "usd": value})


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", {1: "a"}, object(), 2**70, "\ud800"])
def test_what_is_not_json_is_refused(value: Any) -> None:
    """Sets, bytes, keys that are not text, objects, huge integers and lone surrogates are refused."""
    with pytest.raises(ValueError, match="a note line must be JSON"):
        frame(1, "0123abcd", LineType.NOTE, AT, None, {"text": value})


def test_a_key_must_be_text_that_can_be_written() -> None:
    """A key with a lone surrogate is refused like a body's."""
    with pytest.raises(ValueError, match="a note line must be JSON"):
        frame(1, "0123abcd", LineType.NOTE, AT, "\udfff", {})


@pytest.mark.parametrize("name", sorted(FRAME_FIELDS))
def test_a_body_cannot_pose_as_the_frame(name: str) -> None:
    """A body with a field of the frame is refused: no name stands twice in a line."""
    with pytest.raises(ValueError, match=f"must not use {name}"):
        frame(1, "0123abcd", LineType.NOTE, AT, None, {name: 1})


def test_a_line_has_a_bound() -> None:
    """The longest line is exactly the bound; a byte more is refused."""
    room = LINE_BYTES_MAX - len(frame(1, "0123abcd", LineType.NOTE, AT, None, {"text": ""}).data)
    text = "x" * room
    assert len(frame(1, "0123abcd", LineType.NOTE, AT, None, {"text": text}).data) == LINE_BYTES_MAX
    with pytest.raises(ValueError, match="is too long"):
        frame(1, "0123abcd", LineType.NOTE, AT, None, {"text": text + "x"})


def test_what_settles_a_key() -> None:
    """Scored and the three ways of not being scored settle a key, and nothing else does."""
    assert {line_type.value for line_type in TERMINAL} == {"scored", "unreadable", "infrastructure", "cancelled"}
