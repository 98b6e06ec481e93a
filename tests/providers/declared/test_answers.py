"""Answers have one form, and a banner is read from them as declared."""

from __future__ import annotations

import pytest

from providers.declared.answers import Answer, at_pointer, kept, parse_body, read_banner
from providers.declared.model import Banner
from spec.canonical import Json
from spec.environment import Screen
from spec.errors import ProviderFault

DOCUMENT: Json = {"a/b": [10, {"~": "x"}], "": 1}


@pytest.mark.parametrize(
    ("pointer", "value"), [("", DOCUMENT), ("/a~1b/0", 10), ("/a~1b/1/~0", "x"), ("/", 1), ("/a~1b/1", {"~": "x"})]
)
def test_a_pointer_finds_its_value(pointer: str, value: Json) -> None:
    """As RFC 6901 says, escapes included."""
    assert at_pointer(DOCUMENT, pointer) == value


@pytest.mark.parametrize("pointer", ["/x", "/a~1b/2", "/a~1b/01", "/a~1b/-", "/a~1b/0/0"])
def test_a_pointer_to_nothing_is_no_value(pointer: str) -> None:
    """It is never null by accident."""
    with pytest.raises(LookupError):
        at_pointer(DOCUMENT, pointer)


def test_what_is_kept_has_to_be_there() -> None:
    """Otherwise it is the provider's fault, with the name of what is missing."""
    assert kept({"id": 7}, {"tenant": "/id"}, "the reset") == {"tenant": 7}
    with pytest.raises(ProviderFault, match=r"the reset: \{tenant\} cannot be kept: there is nothing at '/no'"):
        kept({"id": 7}, {"tenant": "/no"}, "the reset")


def test_a_body_is_json_or_text() -> None:
    """Bytes that are neither are shown with question marks."""
    assert parse_body(b'{"a": 1}') == {"a": 1}
    assert parse_body(b"not json") == "not json"
    assert isinstance(parse_body(b"\xff\xfe"), str)


@pytest.mark.parametrize(
    ("answer", "banner", "saved"),
    [
        (Answer(200, "ok", ok=True), Banner(), True),
        (Answer(409, "no", ok=False), Banner(), False),
        (Answer(409, {"m": "Saved!"}, ok=False), Banner(status=[409], pointer="/m", saved="^Saved"), True),
        (Answer(200, {"m": "Not saved"}, ok=True), Banner(pointer="/m", saved="^Saved"), False),
        (Answer(200, {}, ok=True), Banner(pointer="/m", saved="Saved"), False),
    ],
)
def test_a_banner_needs_status_and_words(answer: Answer, banner: Banner, saved: bool) -> None:
    """Both have to be as declared; a banner that is not there says nothing."""
    screen = read_banner(answer, banner)
    assert isinstance(screen, Screen)
    assert screen.saved is saved
