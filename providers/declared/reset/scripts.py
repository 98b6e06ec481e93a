"""SQL scripts of a declaration: read once, checked for their parameters, run statement by statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from providers.declared.statements import Statement, statements
from providers.declared.templates import as_text
from spec.canonical import Json
from spec.errors import ConfigError
from spec.text import nearest

SCRIPT_BYTES_MAX = 64 * 1024 * 1024


class Script(NamedTuple):
    """A script, taken apart."""

    path: Path
    statements: tuple[Statement, ...]

    def failure(self, statement: Statement, reason: object) -> ConfigError:
        """The error of one statement, with its file and line."""
        text = " ".join(str(reason).split())
        return ConfigError(f"the database refuses this statement: {text}", file=str(self.path), line=statement.line)


def read_script(path: Path) -> Script:
    """Read a script.

    Raises:
        ConfigError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
        if len(data) > SCRIPT_BYTES_MAX:
            raise ConfigError(f"has more than {SCRIPT_BYTES_MAX} bytes", file=str(path))
        return Script(path, tuple(statements(data.decode())))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8", file=str(path), line=line) from None


def param_problems(script: Script, known: Sequence[str]) -> list[ConfigError]:
    """Parameters that no trial has."""
    return [
        ConfigError(
            f"nothing gives :{name} a value", file=str(script.path), line=statement.line, hint=nearest(name, known)
        )
        for statement in script.statements
        for name in statement.params
        if name not in known
    ]


def bound(statement: Statement, values: Mapping[str, Json]) -> dict[str, str | int | float | None]:
    """The values of a statement's parameters, as a driver takes them: a list or table becomes JSON text."""
    return {name: _scalar(values[name]) for name in statement.params}


def _scalar(value: Json) -> str | int | float | None:
    return value if value is None or isinstance(value, str | int | float) else as_text(value)
