"""A reason is one short line without a credential."""

from __future__ import annotations

from oracle.base import ReadFailed
from oracle.channels.failing import MASK, REASON_CHARS_MAX, NoReading, failed, without


def test_a_reason_of_ours_stands_as_it_is() -> None:
    """What a channel itself says is told without the name of an exception."""
    assert failed(NoReading("the table is gone"), "reading") == ReadFailed("the table is gone")


def test_a_foreign_error_is_one_bounded_line() -> None:
    """A driver's text of many lines becomes one, with what was being done before it."""
    reason = failed(RuntimeError("first\n  second " + "x" * 1000), "reading t").reason
    assert reason.startswith("reading t: RuntimeError: first second xxx")
    assert len(reason) == REASON_CHARS_MAX


def test_no_secret_is_shown_in_any_spelling() -> None:
    """A password is masked as it is, and as a URL spells it."""
    text = without("user:p@ss word, p%40ss%20word, p%40ss+word", ["p@ss word", ""])
    assert text == f"user:{MASK}, {MASK}, {MASK}"


def test_a_secret_at_the_cut_is_masked_whole() -> None:
    """Masking comes before cutting, so no first half of a secret is left over."""
    reason = failed(NoReading("x" * (REASON_CHARS_MAX - 4) + "password"), secrets=["password"]).reason
    assert "pass" not in reason


def test_a_secret_within_another_leaves_nothing_of_it() -> None:
    """The longer of two secrets is masked first."""
    assert without("key=abcdef", ["abc", "abcdef"]) == f"key={MASK}"
