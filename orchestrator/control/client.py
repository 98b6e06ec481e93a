"""The terminal's end of a run's control. It trusts neither the link, nor who listens behind it, nor what that says."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from orchestrator.control.place import identity, linked_socket
from orchestrator.control.protocol import (
    ANSWER_BYTES_MAX,
    TEXT_CHARS_MAX,
    Answer,
    Command,
    Look,
    Request,
    Set,
    ViewTold,
    read_answer,
    to_line,
)
from orchestrator.runlock import LOCK_NAME, is_locked
from orchestrator.stored import holds_run
from spec.clock import Clock, SystemClock
from spec.errors import ConfigError, InputError

ANSWER_WAIT_S: Final = 10.0
START_WAIT_S: Final = 15.0
"""How long a command waits for a run that is starting; its backend may take that long."""

AGAIN_S: Final = 0.2
SET_CHARS_MAX: Final = 4096
_CHUNK_BYTES: Final = 64 * 1024
_CREDENTIALS: Final = struct.Struct("3i")

Order = Literal["pause", "unpause", "drain", "cancel"]


class Client:
    """Speaks to the run in a directory; each call is one connection.

    Args:
        run_dir: the run directory.
        start_wait_s: how long to wait for a run that works and does not listen yet, in seconds.
        answer_wait_s: how long an answer may take, in seconds.
        clock: where deadlines come from.
        pause: waits between two tries, in seconds.
    """

    def __init__(
        self,
        run_dir: Path,
        *,
        start_wait_s: float = 0.0,
        answer_wait_s: float = ANSWER_WAIT_S,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._run_dir, self._start_wait_s, self._answer_wait_s = run_dir, start_wait_s, answer_wait_s
        self._clock, self._pause = clock or SystemClock(), pause

    def command(self, do: Order) -> str:
        """Give an order; what happened.

        Raises:
            InputError: nobody works there, or the run refuses; says why.
        """
        return self._accepted(self._ask(Command(run=self._identity(), do=do)))

    def set(self, text: str) -> str:
        """Set a live key with ``key=value``; what happened.

        Raises:
            ConfigError: the run refuses the key or the value.
            InputError: nobody works there.
        """
        if len(text) > SET_CHARS_MAX:
            raise InputError(f"a setting has at most {SET_CHARS_MAX} characters, this one has {len(text)}")
        return self._accepted(self._ask(Set(run=self._identity(), text=text)))

    def look(self, key: str | None = None) -> ViewTold:
        """What is on its way.

        Args:
            key: only this trial; None: all.

        Raises:
            InputError: nobody works there, or nobody answers as a run should.
        """
        answer = self._ask(Look(run=self._identity(), key=None if key is None else key[:TEXT_CHARS_MAX]))
        self._accepted(answer)
        if answer.view is None:
            raise self._strange()
        return answer.view

    def _identity(self) -> str:
        """Which directory is meant; a good moment to see that it is a run's, and readable."""
        try:
            if not holds_run(self._run_dir):
                raise InputError(f"{self._run_dir}: there is no run here")
            with (self._run_dir / LOCK_NAME).open("rb"):
                return identity(self._run_dir)
        except FileNotFoundError:
            raise self._nobody() from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"{self._run_dir}: cannot be read: {reason}; whose run is it?") from error

    def _ask(self, request: Request) -> Answer:
        with self._connected() as connection:
            until_s = self._clock.monotonic() + self._answer_wait_s
            try:
                connection.settimeout(self._answer_wait_s)
                connection.sendall(to_line(request))
                answer = read_answer(self._line(connection, until_s))
            except OSError as error:
                reason = f"none within {self._answer_wait_s:g} s" if isinstance(error, TimeoutError) else error.strerror
                raise InputError(f"{self._run_dir}: the run gave no answer: {reason}; see `status`") from error
        if answer is None:
            raise self._strange()
        return answer

    def _connected(self) -> socket.socket:
        """A connection to the run, once it listens."""
        until_s = self._clock.monotonic() + self._start_wait_s
        while True:
            if not is_locked(self._run_dir):
                raise self._nobody()
            connection = self._connect()
            if connection is not None:
                return connection
            if self._clock.monotonic() >= until_s:
                raise InputError(f"{self._run_dir}: the run is starting or ending and takes no commands; try again")
            self._pause(AGAIN_S)

    def _connect(self) -> socket.socket | None:
        path = linked_socket(self._run_dir)
        if path is None:
            return None
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with suppress(OSError):
            connection.settimeout(self._answer_wait_s)
            connection.connect(str(path))
            listener = peer_uid(connection)
            if listener is None or listener == self._run_dir.stat().st_uid:
                return connection
        connection.close()
        return None

    def _line(self, connection: socket.socket, until_s: float) -> bytes:
        """What comes up to the first line break, or up to the end; never more than the bound, never for longer."""
        found = bytearray()
        while b"\n" not in found[-_CHUNK_BYTES:] and len(found) <= ANSWER_BYTES_MAX:
            left_s = until_s - self._clock.monotonic()
            if left_s <= 0:
                raise TimeoutError
            connection.settimeout(left_s)
            chunk = connection.recv(_CHUNK_BYTES)
            if not chunk:
                break
            found += chunk
        return bytes(found[:ANSWER_BYTES_MAX])

    def _accepted(self, answer: Answer) -> str:
        if answer.done:
            return answer.text
        if answer.key or answer.hint:
            raise ConfigError(answer.text, key=answer.key, hint=answer.hint)
        raise InputError(answer.text)

    def _nobody(self) -> InputError:
        return InputError(f"nobody works on {self._run_dir}; `resume {self._run_dir}` goes on with it")

    def _strange(self) -> InputError:
        return InputError(f"{self._run_dir}: what answers there is no run of this version; see `status`")


def peer_uid(connection: socket.socket) -> int | None:
    """Who listens at the other end, as the kernel knows it; None where this system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(uid)
