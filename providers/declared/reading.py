"""From a declaration's file to checked values; every problem with its file, line and key.

The file is a user's: it is bounded, parsed as TOML, checked key by key (``providers.declared.model``) and then as a
whole (``providers.declared.checks``). Nothing but files is opened.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from providers.declared.model import Declaration
from spec.errors import ConfigError, ConfigErrors
from spec.text import nearest
from spec.toml_lines import Place, key_lines, line_of
from spec.wording import shown, type_refusal, value_refusal

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
PROBLEMS_MAX: Final = 50
"""How many problems are told one by one."""

_TOML_LINE: Final = re.compile(r" \(at line (\d+), column (\d+)\)$")
_QUOTED: Final = re.compile(r"'([^']*)'")
_PATTERNS: Final[Mapping[str, str]] = {
    "name": "a-z, 0-9, '_' and '-', beginning with a letter or digit, at most 64",
    "id": "letters, digits and '_.:-', at most 128",
    "tool": "letters, digits and '_.:-', at most 128",
    "channel": "letters, digits and '_.:-', at most 128",
    "pointer": 'a JSON pointer such as "/ticket/status", or ""',
}


class Problem(NamedTuple):
    """Something wrong at a place of the declaration."""

    place: Place
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a declaration was read from.

    Attributes:
        path: where it lies.
        text: what stands in it.
        document: the same as values.
    """

    path: Path
    text: str
    document: Mapping[str, Any]

    def errors(self, problems: Sequence[Problem]) -> ConfigErrors:
        """All problems as errors, in the file's order."""
        lines = key_lines(self.text)
        located = [
            ConfigError(
                problem.message,
                file=str(self.path),
                line=line_of(lines, problem.place),
                key=key_text(problem.place),
                hint=problem.hint,
            )
            for problem in problems[:PROBLEMS_MAX]
        ]
        located.sort(key=lambda error: error.line or 0)
        if len(problems) > PROBLEMS_MAX:
            more = f"{len(problems) - PROBLEMS_MAX} further problems are not listed"
            located.append(ConfigError(more, file=str(self.path)))
        return ConfigErrors(located)


def read_declaration(path: Path) -> tuple[Declaration, Source]:
    """Read a declaration and check each key of it.

    Raises:
        ConfigError: there is no such file.
        ConfigErrors: with every problem found.
    """
    text = _read(path)
    source = Source(path, text, _parse(text, path))
    try:
        return Declaration.model_validate(source.document), source
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise source.errors([_problem(detail, source.document) for detail in details]) from None


def key_text(place: Place) -> str:
    """A place as a dotted key."""
    parts = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]
    return "".join(parts).lstrip(".")


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        try:
            beside = sorted(entry.name for entry in path.parent.iterdir() if entry.suffix == ".toml")
        except OSError:
            beside = []
        hint = nearest(path.name, beside[:8])
        message = f"{path} cannot be read: {error.strerror}"
        raise ConfigError(message, key="provider.options.file", hint=hint) from None
    if len(data) > FILE_BYTES_MAX:
        raise ConfigErrors([ConfigError(f"is larger than {FILE_BYTES_MAX} bytes", file=str(path))])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigErrors([ConfigError(f"byte {error.start} is not UTF-8", file=str(path), line=line)]) from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigErrors([ConfigError("tables and lists are nested too deep", file=str(path))]) from None
    except ValueError as error:
        message = str(error)
        match = _TOML_LINE.search(message)
        line = int(match[1]) if match else text.count("\n") + 1
        reason = _TOML_LINE.sub("", message)
        raise ConfigErrors([ConfigError(f"is not TOML: {reason}", file=str(path), line=line)]) from None


def _problem(details: ErrorDetails, document: Mapping[str, Any]) -> Problem:
    place: Place = tuple(step for step in details["loc"] if step != "[key]")
    kind, context, value = details["type"], details.get("ctx", {}), look(document, place)
    if kind == "rule":
        return Problem(place, shown(value) + context["reason"], context["hint"])
    if kind == "extra_forbidden":
        return Problem(place, "unknown key", nearest(str(place[-1]), known_keys(place[:-1])))
    if kind == "missing":
        return Problem(place, "is missing")
    if (refusal := type_refusal(kind, value)) is not None:
        return Problem(place, refusal)
    if kind in ("literal_error", "enum"):
        hint = nearest(value, _QUOTED.findall(context["expected"])) if isinstance(value, str) else ""
        return Problem(place, f"{shown(value)}must be {context['expected']}", hint)
    if kind == "string_pattern_mismatch":
        wanted = _PATTERNS.get(str(place[-1]), "a-z, 0-9 and '_', beginning with a letter or '_'")
        return Problem(place, f"{shown(value)}may hold only {wanted}")
    return Problem(place, value_refusal(kind, context, value) or details["msg"])


def look(document: object, place: Place) -> object:
    """The value at a place, or None."""
    for step in place:
        if isinstance(document, Mapping):
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            return None
    return document


def known_keys(place: Place) -> list[str]:
    """The keys that may stand in the table at a place; empty where any may."""
    model: type[BaseModel] | None = Declaration
    for step in place:
        if isinstance(step, int):
            continue
        fields = {} if model is None else {field.alias or name: field for name, field in model.model_fields.items()}
        found = fields.get(step)
        model = None if found is None else _model_in(found.annotation)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The model that an annotation is, or is a list of, or may be."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return None
    return next((found for inner in get_args(annotation) if (found := _model_in(inner)) is not None), None)
