"""Simple paths into a JSON value: ``data.items``, ``note[0].text``, or a JSON pointer such as ``/data/items``.

Values are those that a parser makes, of dicts and lists. A path names at most one place. A number is an index only
where a list stands; a name that meets a list is an error, since it could mean any of its elements. ``""`` is the whole
value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from spec.canonical import Json

STEPS_MAX: Final = 32

Path = tuple[str, ...]
Tree = dict[str, "Tree"]
"""Paths by their steps; an empty tree is the end of a path."""

_DOTTED: Final = re.compile(r"[^.\[\]]+(\[[0-9]+\])*(\.[^.\[\]]+(\[[0-9]+\])*)*")
_GONE: Final = object()


class WrongPath(ValueError):
    """Raised when a path cannot be read or does not fit the value; its text is the reason."""


def parse_path(text: str) -> Path:
    """The steps of a path.

    Raises:
        WrongPath: it is neither a pointer nor names and indices with dots between them.
    """
    if not text:
        return ()
    if text.startswith("/"):
        steps = [step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/")]
    elif _DOTTED.fullmatch(text):
        steps = text.replace("[", ".").replace("]", "").split(".")
    else:
        raise WrongPath(f"{text[:80]!r} is no path such as data.items, note[0].text or /data/items")
    if len(steps) > STEPS_MAX:
        raise WrongPath(f"a path of more than {STEPS_MAX} steps")
    return tuple(steps)


def find(value: Json, path: Path) -> Json:
    """What stands at a path; None where nothing does.

    Raises:
        WrongPath: a name meets a list.
    """
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list):
            place = _index(step, path)
            value = value[place] if place < len(value) else None
        else:
            return None
    return value


def tree_of(paths: Iterable[Path]) -> Tree:
    """Paths as one tree; of two paths of which one begins with the other, the shorter one counts."""
    tree: Tree = {}
    for path in sorted(set(paths), key=len):
        branch = tree
        for place, step in enumerate(path):
            if step in branch and not branch[step] and place < len(path) - 1:
                break
            branch = branch.setdefault(step, {})
    return tree


def without(value: Json, tree: Tree) -> Json:
    """The value without what stands at some paths, and without the containers that are empty because of it.

    Whoever knows what stood at the paths and what is left knows the whole value: a null is left where it is, and a
    list keeps the places of its other elements.

    Raises:
        WrongPath: a name meets a list.
    """
    left = _cut(value, tree) if tree else value
    return None if left is _GONE else left  # type: ignore[return-value]  # a marker, and never inside what is left


def _cut(value: Json, tree: Tree) -> object:
    if not tree:
        return value if value is None else _GONE
    if isinstance(value, dict):
        kept: dict[str, object] = dict(value)
        for name, branch in tree.items():
            if name in kept:
                left = _cut(value[name], branch)
                if left is _GONE:
                    del kept[name]
                else:
                    kept[name] = left
        return _GONE if value and not kept else kept
    if isinstance(value, list):
        return _cut_list(value, tree)
    return value


def _cut_list(value: Sequence[Json], tree: Tree) -> object:
    items: list[object] = list(value)
    for step, branch in tree.items():
        place = _index(step, (step,))
        if place < len(items):
            items[place] = _cut(value[place], branch)
    if not any(item is _GONE for item in items):
        return items
    while items and items[-1] is _GONE:
        items.pop()
    return [None if item is _GONE else item for item in items] if items else _GONE


def _index(step: str, path: Path) -> int:
    if not (step.isascii() and step.isdecimal()):
        raise WrongPath(f"{'.'.join(path)!r}: a list stands before {step!r}, so the path needs an index")
    return int(step)
