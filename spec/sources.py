"""Which code a process really imports: digests of packages and modules, and where a run's own folder lies there.

The processes of a run can be on several machines. Each says by these digests what it imports, and the driver compares.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from spec.canonical import digest_bytes

SHIPPED_FOLDER: Final = "trial_orchestrator_folder"
"""The name under which a configuration's folder is shipped to other machines; its parent is on ``sys.path`` there."""

UNKNOWN: Final = "unknown"


@cache
def package_digest(name: str) -> str:
    """``sha256:`` over the names and contents of a package's files, compiled ones aside; "unknown" where it has none.

    Args:
        name: a package that can be imported.
    """
    found = find_spec(name)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    files = sorted(
        (path.relative_to(place).as_posix(), path)
        for place in places
        for path in Path(place).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    total = sha256()
    for relative, path in files:
        total.update(f"{relative}\0{digest_bytes(path.read_bytes())}\n".encode())
    return f"sha256:{total.hexdigest()}" if files else UNKNOWN


def module_digest(name: str) -> str:
    """``sha256:`` over the source file of a module that is imported; "unknown" where there is no such file."""
    path = getattr(sys.modules.get(name), "__file__", None)
    if path is None:
        return UNKNOWN
    try:
        return digest_bytes(Path(path).read_bytes())
    except OSError:
        return UNKNOWN


def folder_here(folder: Path) -> Path:
    """Where a configuration's folder lies in this process: where it was shipped to, else where it was.

    Args:
        folder: where it is on the driver's machine.
    """
    for entry in sys.path:
        shipped = Path(entry) / SHIPPED_FOLDER
        if entry and shipped.is_dir():
            return shipped
    return folder
