"""Texts with ``{name}`` places: where values come in, as values wherever that is possible.

``{{`` and ``}}`` are plain braces. A text that is one place and nothing else becomes the value itself, with its type.
Nothing here ever builds a statement, a shell line or JSON text: those take values apart from the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import orjson

from spec.canonical import Json

NAME_PATTERN: Final = r"^[a-z_][a-z0-9_]{0,63}$"

_PLACE: Final = re.compile(r"\{\{|\}\}|\{([a-z_][a-z0-9_]{0,63})\}|[{}]")
_WHOLE: Final = re.compile(r"\{([a-z_][a-z0-9_]{0,63})\}")
_DEPTH_MAX: Final = 32


class TemplateError(ValueError):
    """Raised when a text is no template, or a value is none that JSON can carry."""


def names_in(value: object, depth: int = _DEPTH_MAX) -> list[str]:
    """The names of all places in a text, or in every text below a table or list, in order.

    Raises:
        TemplateError: a brace stands alone, or a value is no JSON.
    """
    if isinstance(value, str):
        return _names(value)
    if value is None or isinstance(value, bool | int | float):
        return []
    if isinstance(value, Mapping) and depth:
        return [name for item in value.values() for name in names_in(item, depth - 1)]
    if isinstance(value, list | tuple) and depth:
        return [name for item in value for name in names_in(item, depth - 1)]
    raise TemplateError(f"a {type(value).__name__} is no JSON; write it as text in quotes" if depth else "too deep")


def _names(text: str) -> list[str]:
    names = []
    for match in _PLACE.finditer(text):
        if match[0] in ("{", "}"):
            raise TemplateError(f"the brace at character {match.start() + 1} belongs to no {{name}}")
        if match[1]:
            names.append(match[1])
    return names


def whole_name(text: object) -> str | None:
    """The name, where a text is one place and nothing else."""
    match = _WHOLE.fullmatch(text) if isinstance(text, str) else None
    return match[1] if match else None


def fill(value: Json, values: Mapping[str, Json]) -> Json:
    """A value with every place filled in, in every text below it.

    Raises:
        KeyError: a place has no value.
    """
    if isinstance(value, str):
        name = whole_name(value)
        return values[name] if name is not None else fill_text(value, values)
    if isinstance(value, Mapping):
        return {key: fill(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, values) for item in value]
    return value


def fill_text(text: str, values: Mapping[str, Json]) -> str:
    """A text with every place filled in as text.

    Raises:
        KeyError: a place has no value.
    """
    return _PLACE.sub(lambda match: _plain(match, values, as_text), text)


def fill_url(text: str, values: Mapping[str, Json]) -> str:
    """An address with every place quoted, so that no value reaches beyond its segment.

    A place with which it begins is an address itself, and stands as it is.

    Raises:
        KeyError: a place has no value.
    """

    def place(match: re.Match[str]) -> str:
        return _plain(match, values, as_text if match.start() == 0 else quoted)

    return _PLACE.sub(place, text)


def as_text(value: Json) -> str:
    """A value as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def quoted(value: Json) -> str:
    """Percent-encoded; a segment of dots alone would be taken for a step through the path."""
    text = as_text(value)
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


def _plain(match: re.Match[str], values: Mapping[str, Json], shown: object) -> str:
    if match[1] is None:
        return match[0][0]
    assert callable(shown)
    return str(shown(values[match[1]]))
