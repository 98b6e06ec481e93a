"""Values come into texts as values, and reach no further than their place."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.declared.templates import TemplateError, fill, fill_text, fill_url, names_in, whole_name
from spec.canonical import Json


def test_a_text_that_is_one_place_becomes_the_value() -> None:
    """With its type; a place among other text becomes text, and doubled braces are braces."""
    values: dict[str, Json] = {"n": 5, "s": "a", "l": [1, None]}
    assert fill({"a": "{n}", "b": ["{l}", "n={n} {s} {{n}}"], "c": 1.5}, values) == {
        "a": 5,
        "b": [[1, None], "n=5 a {n}"],
        "c": 1.5,
    }
    assert (whole_name("{n}"), whole_name("{n} "), whole_name(5)) == ("n", None, None)


def test_names_are_found_wherever_they_stand() -> None:
    """In order, below tables and lists."""
    assert names_in({"a": ["{x}", {"b": "{y}-{x}"}], "c": None}) == ["x", "y", "x"]


@pytest.mark.parametrize("text", ["{", "a}", "{A}", "{x", "{}"])
def test_a_lone_brace_is_refused(text: str) -> None:
    """It is never taken for text by accident."""
    with pytest.raises(TemplateError):
        names_in(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_value_leaves_its_segment_of_an_address(value: str) -> None:
    """Host, number of segments, query and fragment stay what they are, and the value arrives as it was."""
    address = urlsplit(fill_url("{base}/tickets/{x}/close?as={x}", {"base": "http://127.0.0.1:1", "x": value}))
    assert address.netloc == "127.0.0.1:1"
    first, tickets, segment, close = address.path.split("/")
    assert (first, tickets, close, address.fragment) == ("", "tickets", "close", "")
    assert unquote(segment) == value
    assert segment not in (".", "..")


@given(st.text(st.characters(exclude_characters="{}")))
def test_a_value_is_never_read_as_a_template(value: str) -> None:
    """Braces in a value stay braces."""
    assert fill_text("<{x}>", {"x": "{y}" + value}) == "<{y}" + value + ">"
