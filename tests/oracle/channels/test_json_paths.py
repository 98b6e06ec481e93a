"""Paths name one place; what is left without them, with what stood there, is the whole value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle.channels.json_paths import WrongPath, find, parse_path, tree_of, without
from spec.canonical import Json, canonical_json

VALUE: Json = {"data": {"items": [{"text": "a"}, {"text": "b", "more": 1}], "a.b": 5, "0": "zero"}, "x/y": [[1, 2]]}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", VALUE),
        ("data.items[1].text", "b"),
        ("data.items.1.text", "b"),
        ("/data/items/0/text", "a"),
        ("/data/a.b", 5),
        ("data.0", "zero"),
        ("/x~1y/0/1", 2),
        ("data.items[2].text", None),
        ("data.nothing.at.all", None),
        ("data.items[0].text.deeper", None),
    ],
)
def test_a_path_finds_one_place(text: str, found: Json) -> None:
    """Names, indices and pointers lead to a value; where nothing stands, to null."""
    assert find(VALUE, parse_path(text)) == found


@pytest.mark.parametrize("text", [".", "a.", "a..b", "a[", "a[x]", "a[-1]", "[0]a", "a]", ".".join("a" * 33)])
def test_what_is_no_path_is_refused(text: str) -> None:
    """A misspelt path is an error, not a place where nothing stands."""
    with pytest.raises(WrongPath):
        parse_path(text)


def test_a_name_that_meets_a_list_is_an_error() -> None:
    """Such a path could mean any element; it is not read as a null, which would hide what stands there."""
    with pytest.raises(WrongPath, match="needs an index"):
        find(VALUE, parse_path("data.items.text"))
    with pytest.raises(WrongPath, match="needs an index"):
        without(VALUE, tree_of([parse_path("data.items.text")]))


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"c": 2}, "d": 3}),
        ({"a": {"b": 1}, "d": 3}, {"d": 3}),
        ({"a": {"b": 1}}, None),
        ({"a": {}}, {"a": {}}),
        ({"a": {"b": None}}, {"a": {"b": None}}),
        ({"l": ["x", "y", "z"]}, {"l": [None, "y", "z"]}),
        ({"l": ["x"]}, None),
        ({"l": []}, {"l": []}),
        ({"a": [1], "l": "text"}, "error"),
        ({"l": "text"}, {"l": "text"}),
    ],
)
def test_only_what_a_removal_emptied_goes_with_it(value: Json, left: Json) -> None:
    """A container that was empty before stays, a list keeps its places, and a null is no removal."""
    tree = tree_of([("a", "b"), ("l", "0")])
    if left == "error":
        with pytest.raises(WrongPath):
            without(value, tree)
    else:
        assert without(value, tree) == left


def test_the_shorter_of_two_paths_counts() -> None:
    """A path within another one adds nothing."""
    for paths in ([("a",), ("a", "b")], [("a", "b"), ("a",)]):
        assert tree_of(paths) == {"a": {}}


leaves = st.sampled_from([1, 2, "x", True, None])
values = st.recursive(
    leaves,
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
steps = st.sampled_from(["a", "b", "c", "0", "1"])
some_paths = st.lists(st.lists(steps, min_size=1, max_size=3).map(tuple), max_size=3)


@given(one=values, other=values, paths=some_paths)
def test_nothing_can_change_unseen(one: Json, other: Json, paths: list[tuple[str, ...]]) -> None:
    """Two values differ exactly where what stands at the paths, or what is left without them, does."""
    tree = tree_of(paths)
    try:
        seen = [canonical_json([*(find(each, path) for path in paths), without(each, tree)]) for each in (one, other)]
    except WrongPath:
        return
    assert (seen[0] == seen[1]) == (canonical_json(one) == canonical_json(other))
