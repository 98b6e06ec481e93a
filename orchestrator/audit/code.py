"""Digests of the code that an audit was made by: whoever changes a line of it has to audit again.

A digest covers a module and all that it imports, as far as it lies in our packages or beside a module of a user's own;
it is found by reading the files, so that nothing is imported for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from spec.canonical import content_digest, digest_bytes

_FOLLOWED: Final = ("models", "oracle", "providers", "spec")
JUDGING: Final = ("oracle.effect", "oracle.reading", "oracle.service")
"""What every reading of a trial goes through, but for its channel."""
STRATEGIES: Final = ("orchestrator.audit.attacks", "orchestrator.audit.bench", "orchestrator.audit.verdicts")


def code_digest(roots: Sequence[str], follow: Sequence[str] = ()) -> str:
    """``sha256:`` over the sources of modules and of what they import.

    Args:
        roots: names of modules.
        follow: prefixes of modules that are followed besides our own packages.
    """
    prefixes = (*_FOLLOWED, *follow)
    found: dict[str, str] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        path = _file_of(name)
        if name in found or path is None:
            continue
        found[name], imported = _read(name, path)
        waiting += [one for one in imported if one.startswith(prefixes)]
    return content_digest(sorted(found.items()))


def neighbours(module: str) -> tuple[str, ...]:
    """What a provider's own module may lean on besides ours: its package, or the modules beside it."""
    package, _, _ = module.partition(".")
    if package != module or package in _FOLLOWED:
        return (package,)
    path = _file_of(module)
    return (module,) if path is None else tuple(sorted(beside.stem for beside in path.parent.glob("*.py")))


def _file_of(name: str) -> Path | None:
    """The source of a module, found without importing what it lies in; None where there is none."""
    top, *rest = name.split(".")
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        return None
    if not rest:
        return Path(found.origin)
    place = Path(found.origin).parent.joinpath(*rest)
    files = (place.with_name(place.name + ".py"), place / "__init__.py")
    return next((path for path in files if path.is_file()), None)


@cache
def _read(name: str, path: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a module's file, and the names of what it may import."""
    source = path.read_bytes()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return digest_bytes(source), tuple(_imported(ast.parse(source), package))


def _imported(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(node, package)
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _base_of(node: ast.ImportFrom, package: str) -> str:
    """What ``from ... import`` names: dots stand for the package that the module lies in, and those above it."""
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - (node.level - 1)]
    return ".".join([*above, *([node.module] if node.module else [])])
