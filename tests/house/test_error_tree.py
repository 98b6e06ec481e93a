"""The tree that is drawn at the top of ``spec/errors.py`` is the tree of its classes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from spec import errors

LINE: Final = re.compile(r"^(?P<indent>[\s│├└─]*)(?P<name>[A-Z]\w+)\s{2,}(?P<code>\d+)?\s*\S")
INDENT_WIDTH: Final = 4


class Drawn(NamedTuple):
    """A line of the drawing."""

    name: str
    parent: str | None
    code: int | None


def drawing(text: str) -> list[Drawn]:
    lines: list[Drawn] = []
    branch: list[str] = []
    for line in text.partition("::")[2].splitlines():
        found = LINE.match(line)
        if found is None:
            continue
        depth = (len(found["indent"]) - INDENT_WIDTH) // INDENT_WIDTH
        branch = [*branch[:depth], found["name"]]
        lines.append(Drawn(found["name"], branch[-2] if depth else None, int(found["code"]) if found["code"] else None))
    return lines


def classes() -> dict[str, type[errors.OrchestratorError]]:
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.OrchestratorError)
    }


def test_the_drawing_is_the_tree() -> None:
    """Every class is drawn once, under its parent, and nothing else is drawn."""
    actual = {
        name: None if value is errors.OrchestratorError else value.__bases__[0].__name__
        for name, value in classes().items()
    }
    drawn = drawing(errors.__doc__ or "")
    assert len({line.name for line in drawn}) == len(drawn)
    assert {line.name: line.parent for line in drawn} == actual


def test_the_drawn_exit_codes_are_those_of_the_classes() -> None:
    """A number in the drawing is the class's exit code; only what ends no process is drawn without one."""
    drawn = {line.name: line.code for line in drawing(errors.__doc__ or "")}
    for name, value in classes().items():
        ends_no_process = value is errors.OrchestratorError or issubclass(value, errors.TrialError)
        assert drawn[name] == (None if ends_no_process else value.exit_code), name


def test_there_is_one_tree(shipped: Mapping[Path, ast.Module]) -> None:
    """No module outside ``spec/errors.py`` adds a class to the tree."""
    names = set(classes())
    found = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in shipped.items()
        if path != Path("spec/errors.py")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and {ast.unparse(base).rpartition(".")[2] for base in node.bases} & names
    ]
    assert found == []
