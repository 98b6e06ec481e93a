"""The directory that a worker shares with its service process, and the leases in it.

::

    <base>/alive            locked by the worker as long as it lives, so that leftovers are told from the living
    <base>/records/         databases that are files, and their templates
    <base>/leases/<token>   {"url", "fault", "preset_type"}: an arm may act on this record; gone: the trial is sealed
    <base>/open/<record>    {"url"}: the oracle may read this record; gone: the trial is closed
    <base>/read-token       what the oracle shows to the service, mode 0600

The service looks at a lease before every request and keeps none in memory: removing the file seals at once.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from spec.errors import ProviderFault

PREFIX: Final = "orchestrator-records-"
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - names in it are drawn and directories are private
MEMORY_FREE_BYTES_MIN: Final = 256 * 1024 * 1024
"""A memory file system with less room is not used: a container often has 64 MiB, full after a thousand records."""
LEFTOVERS_MAX: Final = 1000
READ_TOKEN: Final = "read-token"  # noqa: S105 - the name of a file
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_PARTS: Final = ("records", "leases", "open")


class Lease(NamedTuple):
    """What a token opens.

    Attributes:
        url: of the database.
        fault: name of what happens to a save.
        preset_type: the encounter type that a new form starts with.
    """

    url: str
    fault: str = "none"
    preset_type: str = "Triage"


def new_token() -> str:
    """A text that nobody guesses."""
    return secrets.token_urlsafe(32)


class Base:
    """The shared directory; see the module.

    Args:
        directory: where it is; it stands already.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def records(self) -> Path:
        """Where databases that are files lie."""
        return self.directory / "records"

    @property
    def read_token_file(self) -> Path:
        """The file with the oracle's token."""
        return self.directory / READ_TOKEN

    def furnish(self) -> None:
        """Make its parts, and draw the oracle's token."""
        for part in _PARTS:
            (self.directory / part).mkdir(mode=0o700)
        self._write(self.read_token_file, new_token().encode())

    def grant(self, token: str, lease: Lease) -> None:
        """Let a token act on a record."""
        self._write(self.directory / "leases" / token, orjson.dumps(lease._asdict()))

    def revoke(self, token: str) -> None:
        """Refuse the token from now on; a second time does nothing."""
        (self.directory / "leases" / token).unlink(missing_ok=True)

    def lease(self, token: str) -> Lease | None:
        """What a token opens, or None: it was never granted, or is revoked."""
        found = self._read("leases", token)
        return None if found is None else Lease(**orjson.loads(found))

    def open_record(self, record: str, url: str) -> None:
        """Let the oracle read a record over the service."""
        self._write(self.directory / "open" / record, url.encode())

    def close_record(self, record: str) -> None:
        """The record is gone."""
        (self.directory / "open" / record).unlink(missing_ok=True)

    def record_url(self, record: str) -> str | None:
        """The database of a record that the oracle may read."""
        found = self._read("open", record)
        return None if found is None else found.decode()

    def read_token(self) -> str:
        """The oracle's token."""
        return self.read_token_file.read_text()

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _read(self, part: str, name: str) -> bytes | None:
        if _TOKEN.fullmatch(name) is None:
            return None
        try:
            return (self.directory / part / name).read_bytes()
        except FileNotFoundError:
            return None

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(content)


def make_base() -> tuple[Base, int]:
    """A directory of this process alone, and the descriptor of its lock: whoever closes it gives the directory up.

    Raises:
        ProviderFault: there is no place for it.
    """
    temporary = Path(tempfile.gettempdir())
    for root in (MEMORY, temporary):
        _sweep(root)
    root = MEMORY if _has_room(MEMORY) else temporary
    try:
        directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    except OSError as error:
        raise _no_place(error, root) from error
    lock: int | None = None
    try:
        # Locked before it has its name: nobody takes a directory for left over that is only being made.
        lock = os.open(directory / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (directory / "new").rename(directory / "alive")
        base = Base(directory)
        base.furnish()
    except OSError as error:
        shutil.rmtree(directory, ignore_errors=True)
        if lock is not None:
            os.close(lock)
        raise _no_place(error, root) from error
    return base, lock


def _no_place(error: OSError, root: Path) -> ProviderFault:
    return ProviderFault(f"no place for the records: {error.strerror} ({root})")


def _has_room(root: Path) -> bool:
    if not os.access(root, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(root)
    return found.f_bavail * found.f_frsize >= MEMORY_FREE_BYTES_MIN


def _sweep(root: Path) -> None:
    """Remove what workers left behind that were killed together with their service."""
    for directory in sorted(root.glob(f"{PREFIX}*"))[:LEFTOVERS_MAX]:
        try:
            if directory.stat().st_uid != os.getuid():
                continue
            lock = os.open(directory / "alive", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # of somebody else, or just being made or removed
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
