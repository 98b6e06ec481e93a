"""What we are called among installed packages, and which versions of packages are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

DISTRIBUTION: Final = "trial-orchestrator"


def version_of(name: str) -> str | None:
    """The installed version of a distribution, or None where it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
