"""Signals outside of the engine: before it listens and after it has stopped, they end the command with one line."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CAUGHT: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """Raised where a signal found the command; like ``KeyboardInterrupt``, no error of the program.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)

    @property
    def exit_code(self) -> int:
        """128 and the signal's number."""
        return 128 + self.signal


@contextmanager
def signals_caught() -> Iterator[None]:
    """Let a signal raise ``Interrupted``; afterwards the signals do what they did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.getsignal(number)) for number in CAUGHT]
    catch_signals()
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def catch_signals() -> None:
    """Take the signals, again if need be: the engine has them while it runs and drops them at its end."""
    if threading.current_thread() is threading.main_thread():
        for number in CAUGHT:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)
