"""Canonical JSON: one value, one byte string, one digest."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.canonical import canonical_json, content_digest, digest_bytes, is_finite

leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"]))
documents = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@given(documents)
def test_the_order_of_keys_does_not_matter(document: Any) -> None:
    """Equal values have one form, however they were built."""
    assert canonical_json(document) == canonical_json(reordered(document))
    assert content_digest(document) == content_digest(reordered(document))


@given(documents)
def test_nothing_is_lost(document: Any) -> None:
    """Reading the form back gives the value."""
    assert orjson.loads(canonical_json(document)) == document


def test_the_form_is_compact_sorted_and_unescaped() -> None:
    """The bytes are those that the specification fixes, so other languages can compute the same digest."""
    assert canonical_json({"b": ["ü", 1.0, None], "a": True}) == '{"a":true,"b":["ü",1.0,null]}'.encode()


def test_a_digest_is_a_prefixed_sha256() -> None:
    """A digest names its own algorithm."""
    assert digest_bytes(b"x") == "sha256:" + hashlib.sha256(b"x").hexdigest()
    assert content_digest([]) == digest_bytes(b"[]")


def test_what_is_not_json_is_refused() -> None:
    """A value without a form has no digest."""
    with pytest.raises(TypeError):
        canonical_json({1, 2})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_a_value_is_finite_where_no_number_in_it_is_not(value: object) -> None:
    """NaN and infinity are found at any depth, and nothing else is taken for them."""
    text = repr(value)
    strings_aside = re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", "", text)
    assert is_finite(value) == (not re.search(r"\b(?:nan|inf)\b", strings_aside))
