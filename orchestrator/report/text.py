"""Making foreign text safe for where it is shown (pure).

An arm writes its own message and a provider its own names. Control characters could move a terminal's cursor or
recolour it, direction marks could reorder a line, and markup could add what the run never said.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

TEXT_CHARS_MAX: Final = 600
"""Longer texts are cut in a report; the whole of them stands in the rows' file."""

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_MARKDOWN: Final = re.compile(r"[\\`*\[\]<>|&~#!@{}]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_AUTOLINK: Final = re.compile(r":(?=//)|(?<=[Ww]{3})\.")
_LINE_START: Final = re.compile(r"^(\s*)([-+](?=[-+\s]|$)|=|\d+(?=[.)](?:\s|$)))")


def visible(text: str) -> str:
    """The text on one line, with every control or format character written out, cut to a length for reading."""
    cut = text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + " ..."
    return cut if cut.isprintable() else "".join(_shown(char) for char in cut)


def markdown(text: str) -> str:
    """The same for Markdown: nothing in the text is markup, a link, or the end of a table's cell."""
    escaped = _MARKDOWN.sub(lambda found: "\\" + found[0], visible(text))
    escaped = _AUTOLINK.sub(lambda found: "\\" + found[0], escaped)
    return _LINE_START.sub(_escape_start, escaped)


def _escape_start(found: re.Match[str]) -> str:
    """A mark at the start of a line would make it a list or a heading; a number needs its dot escaped instead."""
    return f"{found[1]}{found[2]}\\" if found[2].isdigit() else f"{found[1]}\\{found[2]}"


def _shown(char: str) -> str:
    if char in "\n\r\t":
        return " "
    if unicodedata.category(char) not in _UNSAFE:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
