from __future__ import annotations

import tomllib
from collections.abc import Iterator

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from spec.toml_lines import Place, key_lines, line_of

FILE = """format = 1
run = {kind = "effect", "od d".x = 3}
provider.options.deep.er = [
  1,
  {u = 3}, # why
]
[engine]
kind = 1
[[arms]]
name = "a"
[arms.options]
q = 1
[[arms]]
# a comment
name = "b"
[arms.options.z."q r"]
t = '''
x'''
u = 2
"""


def test_every_form_of_a_key_has_its_line() -> None:
    """Plain, dotted, quoted and inline keys, list elements and [[tables]] are found where they stand."""
    lines = key_lines(FILE)
    expected: dict[Place, int] = {
        ("format",): 1,
        ("run", "kind"): 2,
        ("run", "od d", "x"): 2,
        ("provider", "options", "deep", "er"): 3,
        ("provider", "options", "deep", "er", 0): 4,
        ("provider", "options", "deep", "er", 1, "u"): 5,
        ("engine",): 7,
        ("engine", "kind"): 8,
        ("arms",): 9,
        ("arms", 0): 9,
        ("arms", 0, "name"): 10,
        ("arms", 0, "options", "q"): 12,
        ("arms", 1): 13,
        ("arms", 1, "name"): 15,
        ("arms", 1, "options", "z", "q r", "t"): 17,
        ("arms", 1, "options", "z", "q r", "u"): 19,
    }
    assert {place: lines.get(place) for place in expected} == expected


def test_a_missing_key_has_the_line_of_its_table() -> None:
    """Where a key is not there, the table around it is named; a file without that table has no line."""
    lines = key_lines(FILE)
    assert line_of(lines, ("arms", 1, "use")) == 13
    assert line_of(lines, ("engine", "kind", "deeper")) == 8
    assert line_of(lines, ("limits", "open_s")) is None


def test_text_that_is_no_toml_still_ends() -> None:
    """A place is looked for as well as it can be; nothing is raised."""
    assert isinstance(key_lines("a = [1, \n[[b\n'''"), dict)
    assert isinstance(key_lines("a" + ".a" * 5000 + " = 1"), dict)
    assert isinstance(key_lines("a = " + "[" * 3000), dict)


VALUES = st.recursive(
    st.integers(0, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def places(value: object, place: Place = ()) -> Iterator[Place]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield (*place, name)
            yield from places(item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield (*place, index)
            yield from places(item, (*place, index))


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_every_place_of_any_document_has_a_line(document: dict[str, object]) -> None:
    """Whatever tomllib reads from a file has a line in it."""
    text = tomli_w.dumps(document)
    lines = key_lines(text)
    for place in places(tomllib.loads(text)):
        assert 1 <= lines.get(place, 0) <= text.count("\n") + 1, (text, place)
