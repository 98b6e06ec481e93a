"""Takes an SQL script apart: its statements, the line on which each begins, and its ``:name`` parameters.

A parameter is only a parameter outside of quotes and comments, and a semicolon only ends a statement there; the bodies
of SQLite's triggers are kept whole. Values never become part of the text: the driver binds them.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$)
    | (?P<cast>::)
    | (?P<param>(?<![\w:]):(?P<name>[a-z_][a-z0-9_]*))
    | (?P<end>;)
    | (?P<space>\s+)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Statement(NamedTuple):
    """One statement of a script.

    Attributes:
        line: where it begins, from 1.
        text: with ``:name`` as it is written.
        pyformat: the same for drivers that want ``%(name)s``; every other ``%`` is doubled.
        params: the names, each once.
    """

    line: int
    text: str
    pyformat: str
    params: tuple[str, ...]


def statements(script: str) -> Iterator[Statement]:
    """The statements of a script, in order; what is only comments is none."""
    parts: list[tuple[str, str]] = []
    names: list[str] = []
    line, begins, empty = 1, 1, True
    for token in _TOKEN.finditer(script):
        text, kind = token[0], token.lastgroup
        kind = "param" if token["param"] else "quoted" if token["quoted"] else kind
        if empty and kind not in ("comment", "space", "end"):
            empty, begins = False, line
        line += text.count("\n")
        if kind == "param":
            names.append(token["name"])
            parts.append((text, f"%({token['name']})s"))
        else:
            parts.append((text, text.replace("%", "%%")))
        if kind == "end" and (empty or _is_whole(parts)):
            if not empty:
                yield _statement(begins, parts, names)
            parts, names, empty = [], [], True
    if not empty:
        yield _statement(begins, parts, names)


def _is_whole(parts: list[tuple[str, str]]) -> bool:
    """Whether a semicolon ends the statement, and not one inside a trigger's body."""
    text = "".join(part for part, _ in parts)
    return re.match(r"(?is)(?:\s|--[^\n]*\n|/\*.*?\*/)*create\s+(?:temp\s+|temporary\s+)?trigger\b", text) is None or (
        sqlite3.complete_statement(text) or re.search(r"(?i)\bbegin\b", text) is None
    )


def _statement(line: int, parts: list[tuple[str, str]], names: list[str]) -> Statement:
    text, pyformat = ("".join(column).strip() for column in zip(*parts, strict=True))
    return Statement(line, text, pyformat, tuple(dict.fromkeys(names)))
