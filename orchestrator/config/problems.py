"""From what is wrong with a configuration to errors that a reader can act on: file, line, key, reason, hint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from orchestrator.config.model import RunConfig
from orchestrator.config.rules import nearest
from spec.errors import ConfigError, ConfigErrors
from spec.toml_lines import Place, key_lines, line_of
from spec.wording import shown, type_refusal, value_refusal

PROBLEMS_MAX: Final = 50
"""How many problems are told one by one."""

_KEY_CHARS_MAX: Final = 120
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_CHARSETS: Final[Mapping[str, str]] = {
    "run": "letters, digits, '.', '-' and '_', beginning with a letter or digit, at most 64",
    "arms": "a-z, 0-9, '_' and '-', at most 64",
}


class Problem(NamedTuple):
    """Something wrong at a place of the configuration.

    Attributes:
        by_command: the command line is at fault, so that no file is named.
    """

    place: Place
    message: str
    hint: str = ""
    by_command: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a configuration came from, for its error messages.

    Attributes:
        file: as the user named it; "" where it was made in Python.
        text: the file's text.
        document: the values as written, overrides included.
        overridden: the places that the command line has set; they have no line.
    """

    file: str = ""
    text: str = field(default="", repr=False)
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)
    overridden: Sequence[Place] = ()

    def error(self, place: Place, message: str, hint: str = "") -> ConfigError:
        """The error for one place."""
        return self.errors([Problem(place, message, hint)]).errors[0]

    def errors(self, problems: Sequence[Problem]) -> ConfigErrors:
        """All problems as errors, in the file's order, the command line's last."""
        lines = key_lines(self.text) if self.text else {}
        located = [self._locate(problem, lines) for problem in problems]
        located.sort(key=lambda error: (not error.file, error.line or 0))
        shown = located[:PROBLEMS_MAX]
        if len(located) > PROBLEMS_MAX:
            shown.append(ConfigError(f"{len(located) - PROBLEMS_MAX} further problems are not listed", file=self.file))
        return ConfigErrors(shown)

    def _locate(self, problem: Problem, lines: Mapping[Place, int]) -> ConfigError:
        place = problem.place
        by_command = problem.by_command or any(place[: len(given)] == given for given in self.overridden)
        return ConfigError(
            problem.message,
            file="" if by_command else self.file,
            line=None if by_command else line_of(lines, place),
            key=key_text(self.document, place),
            hint=problem.hint,
        )


def key_text(document: Mapping[str, Any], place: Place) -> str:
    """A place as a dotted key; an arm stands in it by its name where it has one."""
    parts: list[str] = []
    for position, step in enumerate(place):
        if position == 1 and place[0] == "arms" and (name := look(document, (*place[:2], "name"))) is not None:
            step = name if isinstance(name, str) else step
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            bare = step if _BARE_KEY.fullmatch(step) else json.dumps(step)
            parts.append(f".{bare}" if parts else bare)
    text = "".join(parts)
    return text if len(text) <= _KEY_CHARS_MAX else text[:_KEY_CHARS_MAX] + "..."


def look(document: object, place: Place) -> object:
    """The value at a place, or None."""
    for step in place:
        if isinstance(document, Mapping):
            document = document.get(step)
        elif isinstance(document, list | tuple) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            return None
    return document


def from_pydantic(error: ValidationError, document: Mapping[str, Any], known: Sequence[Problem]) -> list[Problem]:
    """What pydantic refused, in our words; leaves out what one of the ``known`` problems already says."""
    told = {problem.place[:length] for problem in known for length in range(1, len(problem.place) + 1)}
    problems: list[Problem] = []
    for details in error.errors(include_url=False, include_input=False):
        problem = _problem(details, document, with_hint=len(problems) < PROBLEMS_MAX)
        if problem.place not in told and details["type"] != "default_factory_not_called":
            problems.append(problem)
    return problems


def _problem(details: ErrorDetails, document: Mapping[str, Any], *, with_hint: bool) -> Problem:
    place: Place = tuple(details["loc"])
    kind, context = details["type"], details.get("ctx", {})
    value = look(document, place)
    if kind == "rule":
        place = (*place, *context["within"])
        return Problem(place, f"{shown(look(document, place))}{context['reason']}", context["hint"])
    if kind == "extra_forbidden":
        return Problem(place, "unknown key", _unknown_hint(place) if with_hint else "")
    if kind == "missing":
        return Problem(place, "is missing", _MISSING_HINTS.get(place, ""))
    if (wanted := type_refusal(kind, value)) is not None:
        return Problem(place, wanted)
    if kind == "literal_error":
        hint = nearest(value, _quoted_words(context["expected"])) if isinstance(value, str) else ""
        return Problem(place, f"{shown(value)}must be {context['expected']}", hint)
    if kind == "string_pattern_mismatch":
        return Problem(place, f"{shown(value)}may hold only {_CHARSETS[str(place[0])]}")
    return Problem(place, value_refusal(kind, context, value) or details["msg"])


_MISSING_HINTS: Final[Mapping[Place, str]] = {("arms",): "add an [[arms]] table with a name"}


def _quoted_words(expected: str) -> list[str]:
    return re.findall(r"'([^']*)'", expected)


def known_keys(place: Place) -> list[str]:
    """The keys that may stand in the table at a place; empty where any may."""
    if not place:
        return list(RunConfig.model_fields)
    table = RunConfig.TABLES.get(str(place[0]))
    return list(table.model_fields) if table is not None and len(place) <= 1 + (place[0] == "arms") else []


def _unknown_hint(place: Place) -> str:
    table, name = place[:-1], str(place[-1])
    hint = nearest(name, known_keys(table))
    homes = [home for home, model in RunConfig.TABLES.items() if name in model.model_fields]
    if homes and hint.startswith("known"):
        return f"{name} belongs to {', '.join('[[arms]]' if home == 'arms' else f'[{home}]' for home in homes)}"
    return hint
