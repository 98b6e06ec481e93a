"""Starts the service process of a worker, and ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import anyio
import orjson
from anyio import to_thread

import providers
from providers.records.leases import Base, make_base
from spec.errors import ProviderFault

START_S: Final = 45.0
END_S: Final = 5.0
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")


class ServiceProcess:
    """A running service with the directory that it shares with its worker.

    Attributes:
        base: the directory.
        port: where it listens, on loopback.
    """

    def __init__(self, process: subprocess.Popen[bytes], base: Base, lock: int, port: int) -> None:
        self._process, self.base, self._lock, self.port = process, base, lock, port

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def url(self) -> str:
        """The service's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    async def close(self) -> None:
        """End the process and remove the directory."""
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(_end, self._process)
            await to_thread.run_sync(self.base.remove)
            os.close(self._lock)


async def start_service() -> ServiceProcess:
    """Start a service; it ends when it is closed or this process does.

    Raises:
        ProviderFault: it does not come up, or there is no place for its directory.
    """
    process: subprocess.Popen[bytes] | None = None
    base, lock = make_base()
    try:
        process = _spawn(base)
        with anyio.fail_after(START_S):
            port = await to_thread.run_sync(_port_of, process, abandon_on_cancel=True)
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            if process is not None:
                await to_thread.run_sync(_end, process)
        base.remove()
        os.close(lock)
        if isinstance(error, TimeoutError):
            raise ProviderFault(f"the record service did not come up within {START_S:g} s") from None
        if isinstance(error, OSError):
            raise ProviderFault(f"the record service could not be started: {error}") from error
        raise
    return ServiceProcess(process, base, lock, port)


def _spawn(base: Base) -> subprocess.Popen[bytes]:
    """The process, in a session of its own: an interrupt of the terminal is the driver's to handle."""
    root = Path(providers.__file__).parent.parent
    inherited = os.environ.get("PYTHONPATH", "")
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment["PYTHONPATH"] = f"{root}{os.pathsep}{inherited}" if inherited else str(root)
    return subprocess.Popen(
        [sys.executable, "-m", "providers.records.service", str(base.directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def _port_of(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        return int(orjson.loads(line)["port"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        raise ProviderFault("the record service ended before it listened") from None


def _end(process: subprocess.Popen[bytes], end_s: float = END_S) -> None:
    """End the process. Its output is closed last: whoever still waits for a line there would hold the close up."""
    _close(process.stdin)
    try:
        process.wait(end_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    _close(process.stdout)


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with suppress(OSError):
            pipe.close()
