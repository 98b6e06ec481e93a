"""Names and notes: NFC, harmless in a goal, and each in the script that it says."""

from __future__ import annotations

import unicodedata

import pytest

from providers.records.draws import Draws
from providers.records.scripts import NAME_SCRIPTS, NOTE_SCRIPTS, Script, person, prose

UNICODE_NAMES = {
    "latin": "LATIN",
    "greek": "GREEK",
    "cyrillic": "CYRILLIC",
    "arabic": "ARABIC",
    "hebrew": "HEBREW",
    "han": "CJK",
    "hangul": "HANGUL",
    "devanagari": "DEVANAGARI",
}


@pytest.mark.parametrize("script", NOTE_SCRIPTS, ids=lambda script: script.name)
def test_texts_are_nfc_and_fit_into_a_goal(script: Script) -> None:
    """No text would change when it is normalised, open a place of the goal or end its quotation."""
    for text in (*script.family, *script.given, *script.phrases, script.joint):
        assert unicodedata.is_normalized("NFC", text)
        assert not set(text) & set("{}\"'\n")
        assert len(set(script.phrases)) == len(script.phrases)


@pytest.mark.parametrize("script", NAME_SCRIPTS, ids=lambda script: script.name)
def test_names_are_of_their_script(script: Script) -> None:
    """Every letter of a name is of its script, and every name changes where UTF-8 is read as Latin-1."""
    for text in (*script.family, *script.given):
        letters = [one for one in text if unicodedata.category(one).startswith("L")]
        assert letters
        assert all(UNICODE_NAMES[script.name] in unicodedata.name(one) for one in letters)
    for _ in range(50):
        name = person(Draws(script.name, _), script)
        assert name.encode().decode("latin-1") != name


def test_prose_is_as_long_as_it_has_to_be() -> None:
    """It has the characters that were asked for, and not many more than one round of phrases above."""
    for script in NOTE_SCRIPTS:
        text = prose(Draws("prose"), script, 300)
        assert 300 <= len(text) + len(script.joint) < 300 + len(script.joint.join(script.phrases)) + 8
