"""The shape of the code: nothing too long, every test says what it proves, time and tasks come from one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

FUNCTION_LINES_MAX: Final = 70
FILE_LINES_MAX: Final = 500
CLOCKS: Final = (Path("spec/clock.py"),)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Modules = Mapping[Path, ast.Module]


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def too_long(tree: ast.AST) -> list[str]:
    return [
        f"{node.name} at line {node.lineno} has {lines} lines"
        for node in functions(tree)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of an attribute chain; a base that is no plain name shows as ``?``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def calls(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node.lineno


def reads_wall_time(name: str) -> bool:
    return name == "time.time" or name.endswith(("datetime.now", "datetime.utcnow", "datetime.today", "date.today"))


def starts_an_orphan(name: str) -> bool:
    return name.endswith((".create_task", ".ensure_future", "asyncio.gather")) or name == "gather"


def test_the_length_rule_sees_a_long_function() -> None:
    """A function of 71 lines is found, one of 70 is not."""
    body = "\n".join("    pass" for _ in range(FUNCTION_LINES_MAX))
    assert too_long(ast.parse(f"def f():\n{body}"))
    assert not too_long(ast.parse(f"def f():\n{body[: -len('    pass')]}"))


def test_the_call_rules_see_what_they_forbid() -> None:
    """Wall time and parentless tasks are recognised by the name that is called."""
    source = "time.time(); datetime.datetime.now(); asyncio.gather(); loop.create_task(x); time.monotonic()"
    names = [name for name, _ in calls(ast.parse(source))]
    assert [reads_wall_time(name) for name in names] == [True, True, False, False, False]
    assert [starts_an_orphan(name) for name in names] == [False, False, True, True, False]


def test_no_function_is_longer_than_a_screen(modules: Modules) -> None:
    """No function has more than 70 lines, wherever it stands."""
    found = {str(path): problems for path, tree in modules.items() if (problems := too_long(tree))}
    assert found == {}


def test_no_file_is_long(modules: Modules, root: Path) -> None:
    """No Python file has more than 500 lines."""
    lines = {str(path): len((root / path).read_bytes().splitlines()) for path in modules}
    assert {path: count for path, count in lines.items() if count > FILE_LINES_MAX} == {}


def test_every_test_says_what_it_proves(modules: Modules) -> None:
    """Each test function has a docstring."""
    silent = [
        f"{path}:{node.lineno} {node.name}"
        for path, tree in modules.items()
        if path.parts[0] == "tests"
        for node in functions(tree)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []


def test_wall_time_comes_from_the_clock(shipped: Modules) -> None:
    """Only the clock that is passed around reads the machine's wall time."""
    found = [
        f"{path}:{line} {name}"
        for path, tree in shipped.items()
        if path not in CLOCKS
        for name, line in calls(tree)
        if reads_wall_time(name)
    ]
    assert found == []


def test_every_task_has_a_parent(shipped: Modules) -> None:
    """No code of ours starts a task outside a task group."""
    found = [
        f"{path}:{line} {name}"
        for path, tree in shipped.items()
        for name, line in calls(tree)
        if starts_an_orphan(name)
    ]
    assert found == []
