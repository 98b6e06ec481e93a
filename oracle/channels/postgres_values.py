"""Values of PostgreSQL that psycopg would round, pad or merge: read here such that different ones stay different.

JSON is parsed exactly, and what cannot be stays its own text. An interval is the text of ISO 8601, since a month is not
thirty days; so are ranges text. The blanks that fill a ``char(n)`` are no part of its value, as in PostgreSQL itself.
"""

from __future__ import annotations

from typing import Any, Final

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from oracle.channels.exact_json import parse_json
from spec.canonical import Json

SETTINGS: Final = {
    "client_encoding": "UTF8",
    "datestyle": "ISO",
    "extra_float_digits": "1",
    "intervalstyle": "iso_8601",
    "row_security": "off",
    "timezone": "UTC",
}
"""What a session needs besides: no value is rounded, and a row that a policy hides is an error, not a missing row."""

_AS_TEXT: Final = (
    "interval",
    *(f"{kind}{many}" for kind in ("int4", "int8", "num", "date", "ts", "tstz") for many in ("range", "multirange")),
)


class _Padded(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        text = super().load(data)
        return text.rstrip(" ") if isinstance(text, str) else text


class _Exact(Loader):
    def load(self, data: Buffer) -> Json:
        text = bytes(data)
        try:
            return parse_json(text)
        except ValueError:
            return text.decode()


def read_exactly(connection: Connection[Any]) -> None:
    """Let a connection load values as said above; its session needs ``SETTINGS``."""
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, _Exact)
    for name in _AS_TEXT:
        connection.adapters.register_loader(name, TextLoader)
    connection.adapters.register_loader("bpchar", _Padded)
