"""Values as they were written: checked to be plain, and with environment variables filled in.

``${NAME}`` inside a text stands for the environment variable NAME; ``$${`` stands for the two characters themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.config.model import WrittenText
from orchestrator.config.problems import Problem
from orchestrator.config.rules import DEPTH_MAX, nearest, scalar_problem
from spec.toml_lines import Place

_NESTING: Final = Mapping | list | tuple
_VARIABLE: Final = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{")


def too_deep(document: object) -> Problem | None:
    """The first place at which tables and lists stand too deep in one another.

    Runs before anything that recurses; also ends on a mapping that holds itself.
    """
    stack: list[tuple[Place, object]] = [((), document)]
    while stack:
        place, value = stack.pop()
        if len(place) > DEPTH_MAX:
            return Problem(place[:4], f"is nested deeper than {DEPTH_MAX} levels")
        if isinstance(value, Mapping):
            stack += [((*place, _step(name)), item) for name, item in value.items() if isinstance(item, _NESTING)]
        elif isinstance(value, list | tuple):
            stack += [((*place, index), item) for index, item in enumerate(value) if isinstance(item, _NESTING)]
    return None


def thawed(value: object) -> object:
    """A copy in plain tables and lists, which can be changed; single values are taken as they are."""
    if isinstance(value, Mapping):
        return {name: thawed(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [thawed(item) for item in value]
    return value


def _step(name: object) -> str:
    return name if isinstance(name, str) else ascii(name)


class Resolver:
    """Makes plain values of written ones.

    Args:
        environ: the environment variables.
        skipped: tables whose variables are left as they are, since their arm does not run.

    Attributes:
        problems: what was found on the way.
        texts: the texts that took a variable.
    """

    def __init__(self, environ: Mapping[str, str], skipped: frozenset[Place] = frozenset()) -> None:
        self._environ, self._skipped = environ, skipped
        self.problems: list[Problem] = []
        self.texts: dict[Place, WrittenText] = {}

    def table(self, table: Mapping[Any, Any], place: Place = ()) -> dict[str, Any]:
        """A table with all below it; keys that are not text are a problem."""
        resolved = {}
        for name, value in table.items():
            if not isinstance(name, str) or scalar_problem(name):
                self.problems.append(Problem((*place, ascii(name)), "a key must be text"))
            else:
                resolved[name] = self.value(value, (*place, name))
        return resolved

    def value(self, value: object, place: Place) -> object:
        """A value with all below it; one that is not plain is a problem and stays as it is."""
        if isinstance(value, Mapping):
            return self.table(value, place)
        if isinstance(value, list | tuple):
            return [self.value(item, (*place, index)) for index, item in enumerate(value)]
        reason = scalar_problem(value)
        if reason is not None:
            self.problems.append(Problem(place, reason))
            return value
        return self._text(value, place) if isinstance(value, str) else value

    def _text(self, written: str, place: Place) -> str:
        if "${" not in written or place[:2] in self._skipped:
            return written
        parts, end = [], 0
        for match in _VARIABLE.finditer(written):
            parts += [written[end : match.start()], self._variable(match, place)]
            end = match.end()
        value = "".join(parts) + written[end:]
        self.texts[place] = WrittenText(written, value)
        return value

    def _variable(self, match: re.Match[str], place: Place) -> str:
        name = match[1]
        if match[0] == "$${":
            return "${"
        if name is None:
            self.problems.append(
                Problem(place, "holds ${ without a variable's name and }", "write $${ for the text ${")
            )
            return ""
        value = self._environ.get(name)
        if value is None:
            close = nearest(name, list(self._environ))
            hint = close if close.startswith("did") else f"set it: export {name}=..."
            self.problems.append(Problem(place, f"the environment variable {name} is not set", hint))
        elif scalar_problem(value):
            self.problems.append(Problem(place, f"the environment variable {name} {scalar_problem(value)}"))
        else:
            return value
        return ""
