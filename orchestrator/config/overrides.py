"""What the command line changes in a configuration: ``--set`` and the choice of arms.

``--set key=value`` takes a dotted TOML key, in which an arm stands by its name, and a TOML value; what is no TOML
value is text, so that quotes can be left out.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from orchestrator.config.problems import Problem
from orchestrator.config.rules import REPEATED_NAME, REPEATED_NAME_HINT, nearest
from spec.toml_lines import Place

_OPENERS: Final = ('"', "'", "[", "{")


class Override(NamedTuple):
    """One ``--set``: the names of its key, and the value."""

    names: tuple[str, ...]
    value: Any


def parse_override(text: str) -> Override | Problem:
    """Read ``key=value``."""
    for position, character in enumerate(text):
        if character != "=":
            continue
        names = _key_names(text[:position])
        if names:
            return _with_value(names, text[position + 1 :].strip())
    return _wrong((), f"--set {text[:80]!a} is not key=value", "for example --set run.trials=3")


def _with_value(names: tuple[str, ...], text: str) -> Override | Problem:
    found = _toml_values(f"v=[{text}]")
    if found is not None and len(found) == 1:
        return Override(names, found[0])
    if text.startswith(_OPENERS):
        return _wrong(names, f"{text[:60]!a} is not a TOML value", "quote it for the shell: --set 'key=[\"a\"]'")
    return Override(names, text)


def _toml_values(document: str) -> list[Any] | None:
    """The list under the one key of a document, or None where it is not that."""
    try:
        parsed = tomllib.loads(document)
    except (ValueError, RecursionError):
        return None
    values = parsed.get("v")
    return values if len(parsed) == 1 and isinstance(values, list) else None


def _wrong(place: Place, message: str, hint: str = "") -> Problem:
    return Problem(place, message, hint, by_command=True)


def _key_names(text: str) -> tuple[str, ...]:
    try:
        node: Any = tomllib.loads(f"{text.strip()} = 0") if "\n" not in text else {}
    except (ValueError, RecursionError):
        return ()
    names = []
    while isinstance(node, dict) and len(node) == 1:
        name, node = next(iter(node.items()))
        names.append(name)
    return tuple(names) if node == 0 else ()


def apply_override(document: dict[str, Any], override: Override) -> Place | Problem:
    """Set one value in the document; the place where it stands, or what is in the way."""
    names, node = override.names, document
    outer: Place = ()
    if names[0] == "arms" and len(names) > 1:
        index = _arm_index(document, names[1])
        if isinstance(index, Problem):
            return index
        if len(names) == 2:
            document["arms"][index] = override.value
            return ("arms", index)
        names, outer, node = names[2:], ("arms", index), document["arms"][index]
    for position, name in enumerate(names[:-1]):
        inner = node.setdefault(name, {})
        if not isinstance(inner, dict):
            above = ".".join(override.names[: len(outer) + position + 1])
            return _wrong((*outer, *names), f"{above} is no table, so nothing can be set in it")
        node = inner
    node[names[-1]] = override.value
    return (*outer, *names)


def _arm_index(document: dict[str, Any], name: str) -> int | Problem:
    arms = arm_names(document)
    if name in arms:
        return arms.index(name)
    known = [arm for arm in arms if arm is not None]
    return _wrong(("arms", name), f"no arm is named {name!a}", nearest(name, known))


def arm_names(document: dict[str, Any]) -> list[str | None]:
    """The names of the document's arms, None for one that has none."""
    arms = document.get("arms")
    if not isinstance(arms, list):
        return []
    names = (arm.get("name") if isinstance(arm, dict) else None for arm in arms)
    return [name if isinstance(name, str) else None for name in names]


def repeated_names(document: dict[str, Any]) -> list[Problem]:
    """A problem for each arm that has the name of an earlier one, told even where other keys are wrong too."""
    names = arm_names(document)
    return [
        Problem(("arms", place, "name"), f"{json.dumps(name[:64])} {REPEATED_NAME}", REPEATED_NAME_HINT)
        for place, name in enumerate(names)
        if name is not None and name in names[:place]
    ]


def choose_arms(document: dict[str, Any], wanted: Sequence[str]) -> tuple[frozenset[str], list[Problem]]:
    """The names of the arms that do not run, given those that shall; none wanted means all run."""
    if not wanted:
        return frozenset(), []
    known = [name for name in arm_names(document) if name is not None]
    problems = [
        _wrong((), f"--arm {name!a}: no arm has this name", nearest(name, known))
        for name in wanted
        if name not in known
    ]
    return frozenset() if problems else frozenset(known) - frozenset(wanted), problems
