"""What the house tests look at: the files of the repository, found by walking, so that no git is needed."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def _ignored_names() -> set[str]:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    return {".git"} | {line.rstrip("/") for line in lines if line.endswith("/")}


def _walk(folder: Path, ignored: set[str]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in ignored or path.suffix in {".egg-info", ".pyc"}:
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        else:
            yield path


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def project() -> Mapping[str, Any]:
    """pyproject.toml as it stands."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def packages(project: Mapping[str, Any]) -> tuple[str, ...]:
    """The top-level packages that are shipped."""
    return tuple(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


@pytest.fixture(scope="session")
def files() -> tuple[Path, ...]:
    """Every file of the repository that .gitignore does not name."""
    return tuple(_walk(ROOT, _ignored_names()))


@pytest.fixture(scope="session")
def modules(files: tuple[Path, ...]) -> Mapping[Path, ast.Module]:
    """Every Python file, tests and benchmarks included, with its syntax tree; paths relative to the root."""
    return {
        path.relative_to(ROOT): ast.parse(path.read_bytes(), filename=str(path))
        for path in files
        if path.suffix == ".py"
    }


@pytest.fixture(scope="session")
def shipped(modules: Mapping[Path, ast.Module], packages: tuple[str, ...]) -> Mapping[Path, ast.Module]:
    """The Python files of the shipped packages."""
    return {path: tree for path, tree in modules.items() if path.parts[0] in packages}
