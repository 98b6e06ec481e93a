from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from orchestrator.report.text import TEXT_CHARS_MAX, markdown, visible

PARSER = MarkdownIt("gfm-like", {"linkify": False})


@given(st.text())
@example("\x1b[2J\x1b[31m")
@example("a\u202eb\u2028c\x00\x9b")
def test_no_control_character_is_shown(text: str) -> None:
    """Whatever the text, what is shown is one line without control, format or surrogate characters."""
    shown = visible(text)
    assert {unicodedata.category(char) for char in shown}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
    shown.encode()


def test_a_hidden_character_is_written_out() -> None:
    """What was hidden can be read: terminal codes, direction marks, lone surrogates."""
    assert visible("\x1b[31m") == "\\x1b[31m"
    assert visible("a\u202eb") == "a\\u202eb"
    assert visible("\ud800") == "\\ud800"
    assert visible("\U000e0001") == "\\U000e0001"
    assert visible("two\nlines\tand") == "two lines and"


def test_a_long_text_is_cut() -> None:
    """A report shows the beginning of a long text and says that it is cut."""
    assert visible("x" * 10_000) == "x" * TEXT_CHARS_MAX + " ..."


@given(st.text(alphabet=st.characters(codec="ascii") | st.sampled_from("*_`[]()<>|&~#!\\-+=1.:/wh@{}"), max_size=40))
@example("[x](http://a.b)")
@example("**b** _i_ ~~s~~ `c` <b> &amp; # h")
@example("1. item")
@example("- item")
@example("===")
@example("---")
@example("- - -")
@example("+")
@example("12)")
@example("\\*not bold\\*")
def test_no_text_is_markup(text: str) -> None:
    """Rendered as Markdown, a text gives one paragraph that says just what the text says."""
    shown = visible(text).strip()
    if not shown:
        return
    tokens = PARSER.parse(markdown(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    children = tokens[1].children or []
    assert {child.type for child in children} <= {"text", "text_special"}
    assert "".join(child.content for child in children) == shown


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("http://a.b", "http\\://a.b"),
        ("https://a.b/c", "https\\://a.b/c"),
        ("www.a.b", "www\\.a.b"),
        ("me@a.b", "me\\@a.b"),
    ],
)
def test_an_address_loses_the_form_of_a_link(text: str, escaped: str) -> None:
    """The mark by which GitHub finds a bare address is escaped."""
    assert markdown(text) == escaped


def test_a_name_with_underscores_stays_readable() -> None:
    """An underscore within a word is no markup and stays as it is."""
    assert markdown("screen_only") == "screen_only"
    assert markdown("_em_") == "\\_em\\_"


def test_a_number_stays_readable() -> None:
    """A number at the start of a cell is no list and stays as it is."""
    assert [markdown(text) for text in ("0.5556", "-0.1", "+3")] == ["0.5556", "-0.1", "+3"]


def test_a_cell_cannot_end_its_column() -> None:
    """A vertical bar in a text is escaped, so that a table keeps its columns."""
    assert markdown("a|b") == "a\\|b"
