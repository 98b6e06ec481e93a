"""A package's ``__init__`` is its door: what it offers stands in ``__all__``, and nothing else does."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

Modules = Mapping[Path, ast.Module]


def offered(tree: ast.Module, packages: tuple[str, ...]) -> set[str]:
    """The public names that a door binds: its own definitions, and what it imports from us without using it."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            ours = node.level > 0 or (node.module or "").split(".")[0] in packages
            names |= {alias.asname or alias.name for alias in node.names} - used if ours else set()
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_")}


def problems_of(door: ModuleType, tree: ast.Module, packages: tuple[str, ...]) -> list[str]:
    bound = offered(tree, packages)
    declared = getattr(door, "__all__", None)
    if declared is None:
        return [f"{door.__name__} binds {sorted(bound)} and has no __all__"] if bound else []
    missing = [name for name in declared if not hasattr(door, name)]
    return (
        [f"{door.__name__}.__all__ names {name}, which is not there" for name in missing]
        + [f"{door.__name__} binds {name} outside __all__" for name in sorted(bound - set(declared))]
        + ([f"{door.__name__}.__all__ has a name twice"] if len(set(declared)) < len(declared) else [])
    )


def test_a_false_door_is_seen() -> None:
    """A door that names what is not there, hides what it binds, or has no list at all is refused."""
    door = ModuleType("door")
    tree = ast.parse("from spec.task import Task\ndef helper() -> None: ...")
    assert problems_of(door, tree, ("spec",)) == ["door binds ['Task', 'helper'] and has no __all__"]
    vars(door).update(__all__=["Task", "gone"], Task=object())
    assert problems_of(door, tree, ("spec",)) == [
        "door.__all__ names gone, which is not there",
        "door binds helper outside __all__",
    ]


def test_every_door_tells_the_truth(shipped: Modules, packages: tuple[str, ...]) -> None:
    """Each ``__init__`` either only says what the package is for, or lists exactly what it offers."""
    doors = {path: tree for path, tree in shipped.items() if path.name == "__init__.py"}
    assert {path.parts[0] for path in doors} == set(packages)
    found = [
        problem
        for path, tree in doors.items()
        for problem in problems_of(importlib.import_module(".".join(path.parent.parts)), tree, packages)
    ]
    assert found == []


def test_every_module_says_what_it_is_for(shipped: Modules) -> None:
    """Each shipped file opens with a docstring."""
    assert [str(path) for path, tree in shipped.items() if not ast.get_docstring(tree)] == []
