"""Where in a TOML file a key stands.

``tomllib`` keeps no places, so the file is parsed a second time with tree-sitter, and only once an error has to be
shown. A place is the path of names and list indices that leads to a value: ``("arms", 1, "in_flight")``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

Place = tuple[str | int, ...]

_DEPTH_MAX: Final = 40
_KEYS: Final = frozenset({"bare_key", "quoted_key", "dotted_key"})


def key_lines(text: str) -> Mapping[Place, int]:
    """The line, from 1, on which each key, table and list element of a TOML text first stands."""
    import tree_sitter
    import tree_sitter_toml

    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))
    walk = _Walk()
    walk.document(parser.parse(text.encode()).root_node)
    return walk.lines


def line_of(lines: Mapping[Place, int], place: Place) -> int | None:
    """The line of a place; of the table around it where the key itself is missing; None for the file as a whole."""
    for length in range(len(place), 0, -1):
        if place[:length] in lines:
            return lines[place[:length]]
    return None


class _Walk:
    """One walk over a syntax tree.

    ``lines`` is what was found; ``_arrays`` counts the elements of each ``[[table]]`` so far.
    """

    def __init__(self) -> None:
        self.lines: dict[Place, int] = {}
        self._arrays: dict[Place, int] = {}

    def document(self, root: Node) -> None:
        """Note every key of the file."""
        for node in root.named_children:
            if node.type == "pair":
                self._pair((), node, 0)
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Node) -> None:
        header = next((child for child in node.named_children if child.type in _KEYS), None)
        if header is None:
            return
        place = self._through_arrays(header, whole=node.type == "table")
        if node.type == "table_array_element":
            index = self._arrays.get(place, -1) + 1
            self._arrays[place] = index
            place = (*place, index)
        self._note(place, header)
        for child in node.named_children:
            if child.type == "pair":
                self._pair(place, child, 0)

    def _through_arrays(self, header: Node, *, whole: bool) -> Place:
        """The place that a header names: a name of a ``[[table]]`` on the way stands for its last element."""
        place: Place = ()
        names = _names(header)
        for position, name in enumerate(names):
            place = (*place, name)
            self._note(place, header)
            if place in self._arrays and (whole or position < len(names) - 1):
                place = (*place, self._arrays[place])
        return place

    def _pair(self, outer: Place, node: Node, depth: int) -> None:
        key, *values = (child for child in node.named_children if child.type != "comment")
        place = outer
        for name in _names(key):
            place = (*place, name)
            self._note(place, key)
        for value in values:
            self._value(place, value, depth + 1)

    def _value(self, place: Place, node: Node, depth: int) -> None:
        if depth > _DEPTH_MAX:
            return
        if node.type == "inline_table":
            for child in node.named_children:
                if child.type == "pair":
                    self._pair(place, child, depth)
        elif node.type == "array":
            elements = (child for child in node.named_children if child.type != "comment")
            for index, element in enumerate(elements):
                self._note((*place, index), element)
                self._value((*place, index), element, depth + 1)

    def _note(self, place: Place, node: Node) -> None:
        self.lines.setdefault(place, node.start_point.row + 1)


def _names(key: Node) -> list[str]:
    """The names of a key, read by the same parser that read the file; empty where it is no key."""
    text = (key.text or b"").decode()
    if key.type == "bare_key":
        return [text]
    try:
        node: object = tomllib.loads(text + " = 0")
    except (ValueError, RecursionError):
        return []
    names: list[str] = []
    while isinstance(node, dict) and len(names) < _DEPTH_MAX:
        name, node = next(iter(node.items()))
        names.append(name)
    return names
