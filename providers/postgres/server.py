"""A PostgreSQL server of one's own, for the time of a worker.

It lies in private directories, listens on a unix socket there, and ends with the thread that started it, however that
ends. ``start_server`` has to be called on a thread that lives as long as the server is needed: the one of the event
loop does.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import psycopg
from anyio import to_thread

from providers.postgres import leftovers, places
from providers.postgres.binaries import copy_programs, find_programs, major_version
from providers.postgres.leftovers import DATA
from providers.postgres.logins import Login, Logins
from providers.postgres.passwords import draw_password, scram_verifier, write_secret
from providers.postgres.settings import (
    APP,
    ORACLE,
    OWNER,
    PORT,
    ServerSettings,
    access_rules,
    role_statements,
    server_configuration,
)
from providers.postgres.user import ServerUser, server_user
from spec.clock import Clock
from spec.errors import ProviderFault

_ENVIRONMENT: Final = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
"""The whole environment of the server: none of ours, which may hold credentials."""
_ROUND_S: Final = 0.01
_REASON_BYTES_MAX: Final = 2_000
_READY: Final = "ready"
_STATUS_LINE: Final = 7


@dataclass
class EmbeddedServer:
    """A server that runs; made by ``start_server``."""

    logins: Logins
    port: int | None
    """Where it listens on 127.0.0.1; None without TCP."""
    _directories: list[Path]
    _process: subprocess.Popen[bytes] = field(repr=False)
    _settings: ServerSettings = field(repr=False)
    _clock: Clock = field(repr=False)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether its first process is gone; the others end with it."""
        return self._process.poll() is not None

    @property
    def directory(self) -> Path:
        """Private to this server."""
        return self._directories[0]

    async def stop(self) -> None:
        """End the server at once and remove all its files; a second call does nothing."""
        with anyio.CancelScope(shield=True):
            await _end(self._process, self._settings.stop_deadline_s, self._clock)
            await _clear(self._directories)


async def start_server(settings: ServerSettings, clock: Clock) -> EmbeddedServer:
    """Start a server, with three roles and no database besides its own.

    Args:
        settings: sizes and deadlines.
        clock: for the deadlines.

    Raises:
        ConfigError: this machine has no PostgreSQL, or no user to run it as.
        ProviderFault: it does not come up; the message ends with its own last words.
    """
    programs, user = find_programs(), server_user()
    await to_thread.run_sync(leftovers.sweep, dict.fromkeys(places.roots()))
    start = _Start(settings, clock, user, places.make_private(places.best_root()))
    try:
        with anyio.fail_after(settings.start_deadline_s):
            return await start.run(programs)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            last_words = start.last_words()
            await start.undo()
        if isinstance(error, TimeoutError):
            raise ProviderFault(
                f"PostgreSQL was not ready within {settings.start_deadline_s:g} s{last_words}"
            ) from error
        if isinstance(error, OSError | psycopg.Error):
            raise ProviderFault(f"PostgreSQL could not be started: {error}{last_words}") from error
        raise


class _Start:
    """One attempt to start a server, with what has to be undone if it fails."""

    def __init__(self, settings: ServerSettings, clock: Clock, user: ServerUser, home: Path) -> None:
        self._settings, self._clock, self._user = settings, clock, user
        self._directories = [home]
        self._data = places.make_part(home, DATA, user)
        self._sockets = places.make_part(home, "socket", user)
        self._keys = places.make_part(home, "keys")
        self._log = self._keys / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._version = 0

    async def run(self, programs: Path) -> EmbeddedServer:
        programs = await self._within_reach(programs)
        within = _WITHIN if self._version >= _WITHIN_SINCE else ()
        await self._call([str(programs / "initdb"), "-D", str(self._data), *_INITDB, *within], b"")
        passwords = {role: draw_password() for role in (OWNER, APP, ORACLE)}
        statements = role_statements({role: scram_verifier(word) for role, word in passwords.items()})
        alone = [str(programs / "postgres"), "--single", "-D", str(self._data), *_WITHIN, "postgres"]
        await self._call(alone, statements.encode())
        port = _free_port() if self._settings.tcp else PORT
        self._launch(programs, self._write_configuration(port))
        await self._ready()
        server = EmbeddedServer(
            self._logins(passwords, port),
            port if self._settings.tcp else None,
            self._directories,
            self._process,  # type: ignore[arg-type] # set by _launch
            self._settings,
            self._clock,
        )
        owner = server.logins.owner
        async with await psycopg.AsyncConnection.connect(**owner.arguments(server.logins.maintenance)):
            return server

    async def undo(self) -> None:
        """End what was started, and remove what was written."""
        if self._process is not None:
            await _end(self._process, self._settings.stop_deadline_s, self._clock)
        await _clear(self._directories)

    def last_words(self) -> str:
        """The end of the server's log, as the end of a sentence; empty where there is none."""
        try:
            return _reason(self._log.read_bytes())
        except OSError:
            return ""

    async def _within_reach(self, programs: Path) -> Path:
        """Where the server's user can start its programs: where they are, or in a copy."""
        if await self._can_start(programs):
            return programs
        home = self._directories[0]
        if not places.runs_programs(home):
            self._directories.append(places.make_private(places.roots()[1]))
        copied = await to_thread.run_sync(copy_programs, programs, self._directories[-1] / "programs")
        if not await self._can_start(copied):
            raise ProviderFault(f"the user {self._user.uid} can start PostgreSQL neither in {programs} nor in a copy")
        return copied

    async def _can_start(self, programs: Path) -> bool:
        for name in ("postgres", "initdb"):  # each with its own libraries
            command = self._user.command([str(programs / name), "--version"])
            tried = await anyio.run_process(command, check=False, cwd="/", env=_ENVIRONMENT)
            if tried.returncode != 0:
                return False
            self._version = major_version(tried.stdout.decode(errors="replace"))
        return True

    async def _call(self, program: Sequence[str], text: bytes) -> None:
        command = self._user.command(program)
        done = await anyio.run_process(command, input=text, check=False, cwd="/", env=_ENVIRONMENT)
        if done.returncode != 0:
            name = Path(program[0]).name
            raise ProviderFault(f"{name} of PostgreSQL failed with {done.returncode}{_reason(done.stderr)}")

    def _write_configuration(self, port: int) -> Path:
        home = self._directories[0]
        hba, configuration = home / "pg_hba.conf", home / "postgresql.conf"
        hba.write_text(access_rules(), encoding="utf-8")
        configuration.write_text(server_configuration(self._settings, self._sockets, hba, port), encoding="utf-8")
        for file in (hba, configuration):
            file.chmod(0o644)
        return configuration

    def _launch(self, programs: Path, configuration: Path) -> None:
        """Start the server from this very thread, whose end will be its own; in a session that no key press reaches."""
        command = [str(programs / "postgres"), "-D", str(self._data), "-c", f"config_file={configuration}"]
        with self._log.open("xb") as log:
            self._process = subprocess.Popen(
                self._user.command(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )

    async def _ready(self) -> None:
        assert self._process is not None
        while self._status() != _READY:
            if (code := self._process.poll()) is not None:
                raise ProviderFault(f"PostgreSQL ended with {code} while it started{self.last_words()}")
            await self._clock.sleep(_ROUND_S)

    def _status(self) -> str:
        try:
            return (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()[_STATUS_LINE].strip()
        except (OSError, IndexError):
            return ""

    def _logins(self, passwords: dict[str, str], port: int) -> Logins:
        logins = {}
        for role, password in passwords.items():
            file = self._keys / role
            write_secret(file, password)
            logins[role] = Login(str(self._sockets), port, role, password, file)
        return Logins(logins[OWNER], logins[APP], logins[ORACLE])


_INITDB: Final = (
    "--username=postgres",
    "--auth=trust",  # nobody can connect yet; the rules of the running server come from another file
    "--no-sync",
    "--encoding=UTF8",
    "--locale=C",
    "--wal-segsize=4",
)


_WITHIN: Final = ("-c", "dynamic_shared_memory_type=mmap")
"""Keeps shared memory in files of the data directory, where they go with it even if a program is killed."""
_WITHIN_SINCE: Final = 16
"""The version from which on ``initdb`` takes settings."""


async def _end(process: subprocess.Popen[bytes], deadline_s: float, clock: Clock) -> None:
    """An immediate shutdown, and the hard way where that takes too long."""
    if process.poll() is None:
        process.send_signal(signal.SIGQUIT)
    with anyio.move_on_after(deadline_s):
        while process.poll() is None:
            await clock.sleep(_ROUND_S)
    if process.poll() is None:
        process.kill()
        await to_thread.run_sync(process.wait)


async def _clear(directories: Sequence[Path]) -> None:
    for directory in directories:
        await to_thread.run_sync(leftovers.clear, directory)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _reason(output: bytes) -> str:
    text = os.fsdecode(output[-_REASON_BYTES_MAX:]).strip()
    return f": {' / '.join(line.strip() for line in text.splitlines()[-5:])}" if text else ""
