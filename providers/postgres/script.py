"""Fills a template from an SQL script, by ``psql``: it knows where a statement ends, and on which line one failed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import anyio
from psycopg.conninfo import make_conninfo

from providers.postgres.binaries import find_programs
from providers.postgres.logins import Login
from providers.postgres.pool import Build
from spec.errors import ConfigError, ProviderFault

SCRIPT_DEADLINE_S: Final = 120.0
_FAILED: Final = re.compile(r"^psql:(?P<file>.*):(?P<line>\d+): (?:ERROR|FATAL):\s*(?P<reason>.*)$", re.MULTILINE)
_REASON_CHARS_MAX: Final = 500


def from_script(file: Path, deadline_s: float = SCRIPT_DEADLINE_S) -> Build:
    """What fills a template from a script, in one transaction.

    Args:
        file: SQL as ``psql`` reads it, so that a dump can be used as it is.
        deadline_s: for the whole script.
    """

    async def build(login: Login, database: str) -> None:
        await run_script(file, login, database, deadline_s)

    return build


async def run_script(file: Path, login: Login, database: str, deadline_s: float = SCRIPT_DEADLINE_S) -> None:
    """Run a script in a database, in one transaction.

    Args:
        file: SQL as ``psql`` reads it.
        login: who runs it; the password goes by a file in memory, which nobody else can open.
        database: where.
        deadline_s: for the whole script.

    Raises:
        ConfigError: the file cannot be read, or the statement that ends at the named line fails.
        ProviderFault: the server cannot be reached, or the deadline has passed.
    """
    if not os.access(file, os.R_OK):
        raise ConfigError("the script cannot be read", file=str(file))
    arguments = login.arguments(database)
    address = make_conninfo(**{name: value for name, value in arguments.items() if name != "password"})
    with _password_file(login.password) as descriptor:
        command = [
            *(str(find_programs() / "psql"), "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"),
            *("--single-transaction", "--output=/dev/null", f"--file={file}", address),
        ]
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGPASSFILE": f"/proc/self/fd/{descriptor}"}
        try:
            with anyio.fail_after(deadline_s):
                done = await anyio.run_process(command, check=False, env=environment, pass_fds=[descriptor])
        except TimeoutError as error:
            raise ProviderFault(f"the script {file} did not end within {deadline_s:g} s") from error
    if done.returncode != 0:
        raise _failure(file, done.stderr.decode(errors="replace"))


def _failure(file: Path, said: str) -> ConfigError | ProviderFault:
    found = _FAILED.search(said)
    if found is None:
        return ProviderFault(f"the script {file} could not be run: {' '.join(said.split())[:_REASON_CHARS_MAX]}")
    reason, line = found.group("reason")[:_REASON_CHARS_MAX], int(found.group("line"))
    return ConfigError(f"the server refuses this statement: {reason}", file=found.group("file"), line=line)


@contextmanager
def _password_file(password: str | None) -> Iterator[int]:
    """A descriptor of a file in memory, as ``psql`` wants it: for every server one line, readable by us alone."""
    descriptor = os.memfd_create("pgpass")
    try:
        os.fchmod(descriptor, 0o600)
        escaped = (password or "").replace("\\", "\\\\").replace(":", "\\:")
        os.write(descriptor, f"*:*:*:*:{escaped}\n".encode())
        yield descriptor
    finally:
        os.close(descriptor)
