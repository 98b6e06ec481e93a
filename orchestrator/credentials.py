"""The credentials with which the oracle reads a record: asked for by the provider, kept from everybody else.

A provider names environment variables in ``read_credentials``. They are checked before anything is started; while the
trials run they stand in the environment of no process, this one included, and afterwards they are back, so that a
Python program can run twice. On a cluster that others run they are not sent: the oracle reads them from a file of its
node (``oracle.channels.credentials``).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from oracle.channels.credentials import node_credentials, node_file
from oracle.channels.failing import NoReading
from oracle.hosting import NO_CREDENTIALS, Credentials
from orchestrator.config import LoadedConfig
from spec.errors import ConfigError, ConfigErrors, let_interruptions_through
from spec.text import describe

_ENV_START: Final = 47
"""Place of the address of a process's first environment in ``/proc/self/stat``, behind the name; its end is next."""


class Taken(NamedTuple):
    """What an oracle is given.

    Attributes:
        sent: names with values.
        on_node: names whose values the oracle finds on its node.
    """

    sent: Credentials
    on_node: tuple[str, ...]


NOTHING_TAKEN: Final = Taken(NO_CREDENTIALS, ())


def check_credentials(loaded: LoadedConfig, provider: object, environ: Mapping[str, str]) -> None:
    """Refuse a run whose oracle could not log in.

    Raises:
        ConfigErrors: with every credential that is missing, and how to give it.
    """
    names = _names(loaded, provider)
    if not names:
        return
    if _joins(loaded):
        path = node_file(environ)
        try:
            node_credentials(names, path)
        except NoReading as error:
            hint = f'on a cluster that others run they stand in that file of this node, mode 0600: {names[0]} = "..."'
            raise _refused(loaded, [(f"the oracle's read credentials: {error}", hint)]) from None
        return
    missing = [name for name in names if not environ.get(name)]
    if missing:
        problems = [
            (
                f"the oracle reads the record with the environment variable {name}, which is not set",
                f"export {name}=... before the run",
            )
            for name in missing
        ]
        raise _refused(loaded, problems)


@contextmanager
def taken_credentials(
    loaded: LoadedConfig, provider: object, environ: MutableMapping[str, str], *, here: bool = False
) -> Iterator[Taken]:
    """Take the credentials out of the environment; at the end they are back.

    Args:
        loaded: the configuration.
        provider: what asks for them.
        environ: the environment of this process, or what stands for it.
        here: the oracle works in this process, whatever the configuration says.

    Raises:
        ConfigErrors: one of them is missing.
    """
    check_credentials(loaded, provider, environ)
    names = _names(loaded, provider)
    values = {name: environ[name] for name in names if name in environ}
    for name in values:
        if environ is os.environ:
            _wipe(name)
        del environ[name]
    try:
        if not _joins(loaded):
            yield Taken(Credentials(values), ())
        elif here:
            yield Taken(Credentials(node_credentials(names, node_file(environ))), ())
        else:
            yield Taken(NO_CREDENTIALS, names)
    finally:
        environ.update(values)


def _joins(loaded: LoadedConfig) -> bool:
    """Whether the oracle works on a cluster that others run."""
    return loaded.config.engine.kind != "inline" and bool(loaded.config.engine.address)


def _names(loaded: LoadedConfig, provider: object) -> tuple[str, ...]:
    try:
        asked: Sequence[object] = getattr(provider, "read_credentials", ())
        names = [name for name in asked if isinstance(name, str) and name.isidentifier() and name.isascii()]
        strange = [repr(name) for name in asked if name not in names] if not isinstance(asked, str) else [repr(asked)]
    except BaseException as error:
        let_interruptions_through(error)
        raise _refused(loaded, [(describe(error, "the provider's read_credentials cannot be had"), "")]) from error
    if strange:
        message = f"read_credentials must be names of environment variables; found {', '.join(strange[:3])}"
        raise _refused(loaded, [(message, "")])
    return tuple(dict.fromkeys(names))


def _refused(loaded: LoadedConfig, problems: Sequence[tuple[str, str]]) -> ConfigErrors:
    errors: list[ConfigError] = [loaded.error(("provider", "use"), message, hint) for message, hint in problems]
    return ConfigErrors(errors)


def _wipe(name: str) -> None:
    """Overwrite a variable where the process was started with it: that place can be read by others of this user.

    Removing it from the environment leaves it there. Elsewhere the C library has it in memory of its own, which is not
    touched.
    """
    libc = ctypes.CDLL(None)
    libc.getenv.restype, libc.getenv.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    address: int | None = libc.getenv(name.encode())
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[_ENV_START]), int(fields[_ENV_START + 1])
    except (OSError, ValueError, IndexError):
        return
    if address is not None and start <= address < end:
        ctypes.memset(address, 0, len(ctypes.string_at(address)))
