"""Foreign errors as text that every hop and file can carry."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.text import DETAIL_CHARS_MAX, clean, describe, nearest


@given(st.text(st.characters(categories=None), max_size=2 * DETAIL_CHARS_MAX))
def test_any_text_can_be_written(text: str) -> None:
    """Whatever an error says, it becomes bounded text that JSON can hold; text that is right stays as it is."""
    cleaned = clean(text)
    assert orjson.loads(orjson.dumps(cleaned)) == cleaned
    assert len(cleaned) <= DETAIL_CHARS_MAX
    assert describe(RuntimeError(text)) == clean(f"RuntimeError: {text}" if text else "RuntimeError")
    if len(text) <= DETAIL_CHARS_MAX and not any("\ud800" <= char <= "\udfff" for char in text):
        assert cleaned == text


class _Liar(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]  # on purpose
        raise SystemExit("no name")


class Hidden(Exception, metaclass=_Liar):
    def __str__(self) -> str:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no"), "doing: ValueError: no"),
        (ValueError(), "doing: ValueError"),
        (Hidden(), "doing: Hidden: (its text cannot be had)"),
    ],
)
def test_an_error_is_told_with_what_was_done(error: BaseException, told: str) -> None:
    """What, type and text, without the parts that are empty, even where the error hides them."""
    assert describe(error, "doing") == told


def test_the_nearest_known_name_is_offered() -> None:
    """A slip finds its name whatever its case; a word like none of them is shown all; of nothing nothing is said."""
    assert nearest("Bannr", ["banner", "status"]) == "did you mean 'banner'?"
    assert nearest("zzz", ["banner", "status"]) == "known: banner, status"
    assert nearest("zzz", []) == ""
