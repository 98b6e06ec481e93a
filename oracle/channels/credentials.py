"""The read credentials of a channel: named in a read path, kept outside of it.

``where`` says ``<name>_env`` (a name among the credentials that the provider asked for) or ``<name>_file`` (a file of
the oracle's node that nobody else can read). No reason ever shows a value.

On a cluster that others run, nothing is sent that everybody there could see: the oracle finds what the provider asked
for in a file of its own node, ``$XDG_CONFIG_HOME/trial-orchestrator/credentials.toml``, with lines ``NAME = "value"``.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from oracle.channels.failing import NoReading
from spec.canonical import JsonObject

FILE_BYTES_MAX: Final = 65_536
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def credential(where: JsonObject, name: str, credentials: Mapping[str, str]) -> str | None:
    """The value that a read path names; None where it names none.

    Args:
        where: the read path's address.
        name: what is asked for, such as ``password``.
        credentials: the read credentials of the oracle, by name.

    Raises:
        NoReading: it is named twice, is not there, or stands in a file that others can read.
    """
    variable, file = where.get(f"{name}_env"), where.get(f"{name}_file")
    if variable is not None and file is not None:
        raise NoReading(f"the read path names both {name}_env and {name}_file")
    if variable is not None:
        if type(variable) is not str or not variable:
            raise NoReading(f"{name}_env of the read path is no name")
        if variable not in credentials:
            raise NoReading(f"the oracle has no credential {variable!r}: the provider's read_credentials must list it")
        return credentials[variable]
    if file is None:
        return None
    if type(file) is not str or not file:
        raise NoReading(f"{name}_file of the read path is no path")
    return read_private(Path(file), f"{name}_file")


def read_private(path: Path, what: str) -> str:
    """The text of a file that only this user can read, without its last line's end.

    Args:
        path: the file.
        what: what it is, for the reason.

    Raises:
        NoReading: it is not there, is no file, is another user's, is open to others, or is no text.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise NoReading(f"{what} {path}: {error.strerror}") from None
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise NoReading(f"{what} {path} is no file")
        if state.st_uid != os.geteuid():
            raise NoReading(f"{what} {path} belongs to another user")
        if state.st_mode & _OTHERS:
            raise NoReading(f"{what} {path} has mode {stat.S_IMODE(state.st_mode):04o}, but must have 0600")
        if state.st_size > FILE_BYTES_MAX:
            raise NoReading(f"{what} {path} is larger than {FILE_BYTES_MAX} bytes")
        data = os.read(descriptor, FILE_BYTES_MAX + 1)
    except OSError as error:
        raise NoReading(f"{what} {path}: {error.strerror}") from None
    finally:
        os.close(descriptor)
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise NoReading(f"{what} {path} is no text in UTF-8") from None


def node_file(environ: Mapping[str, str]) -> Path:
    """Where this node keeps read credentials."""
    base = environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".config"
    return folder / "trial-orchestrator" / "credentials.toml"


def node_credentials(names: Sequence[str], path: Path) -> dict[str, str]:
    """Read credentials of this node.

    Args:
        names: those that are asked for; no other is taken out of the file.
        path: the file.

    Raises:
        NoReading: it is not there, others can read it, it is no TOML, or it lacks one of the names.
    """
    try:
        found = tomllib.loads(read_private(path, "the file with read credentials"))
    except tomllib.TOMLDecodeError:
        raise NoReading(f'{path} is no TOML of lines NAME = "value"') from None  # its own words could show a value
    missing = [name for name in names if not isinstance(found.get(name), str) or not found[name]]
    if missing:
        raise NoReading(f"{path} does not have {', '.join(missing)}")
    return {name: found[name] for name in names}
