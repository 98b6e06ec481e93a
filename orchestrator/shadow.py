"""Finds folders of a user's that stand in the way of our packages.

Our packages have short names (``arms``, ``oracle``, ``spec`` ...). A folder or module of such a name beside the user's
own code, or in the working directory, would be imported in place of ours or be hidden by it, and the error that
follows would name neither. This module imports nothing of ours, so that it can run before anything else does.
"""

from __future__ import annotations

from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final, NamedTuple

OUR_PACKAGES: Final = ("arms", "models", "oracle", "orchestrator", "providers", "spec")

_HOME: Final = Path(__file__).resolve().parent.parent


class Shadow(NamedTuple):
    """Something that has the name of a package of ours.

    Attributes:
        name: the package's name.
        path: where the other one lies.
    """

    name: str
    path: Path

    def __str__(self) -> str:
        """One sentence for the user."""
        return f"{self.path} has the name of the orchestrator's own package {self.name!r}; rename it"


def shadows(search_path: list[str] | None = None) -> list[Shadow]:
    """What would be imported in place of our packages.

    Args:
        search_path: folders to look in; None: ``sys.path`` as it is.
    """
    return [Shadow(name, found) for name in OUR_PACKAGES if (found := _other(name, search_path)) is not None]


def _other(name: str, search_path: list[str] | None) -> Path | None:
    spec = PathFinder.find_spec(name, search_path)
    if spec is None:
        return None
    # A folder without __init__.py has no origin, only places.
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    found = Path(origin).resolve()
    if found.is_relative_to(_HOME / name):
        return None
    return found.parent if found.stem == "__init__" else found
