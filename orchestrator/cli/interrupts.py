"""Signals outside of the engine: what they do before it listens and after it has stopped.

Before, a signal raises ``Interrupted`` where it finds the command. After, the trials are over and the results are being
written, which is short: there a signal is noted and gives the command its exit code, since some libraries do not
survive an exception out of nowhere; a second one ends the process. Once the answer is being told, signals do nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from spec.errors import Interruption

CAUGHT: Final = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Interruption):
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
    _came.clear()
    catch_signals()
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def catch_signals() -> None:
    """Let signals raise ``Interrupted``, again if need be: whoever had them meanwhile may have dropped them."""
    _take(_interrupt)


def note_signals(at_once: Callable[[signal.Signals], None]) -> None:
    """Only note the first signal from here on.

    Args:
        at_once: called with a second one; it ends the process.
    """

    def note(number: int, frame: FrameType | None) -> None:
        again = bool(_came)
        _came.append(signal.Signals(number))
        if again:
            at_once(_came[-1])

    _take(note)


def settle_signals() -> signal.Signals | None:
    """The first signal that came and did not end the command, if any; from here on signals do nothing."""
    _take(signal.SIG_IGN)
    return _came[0] if _came else None


def raise_swallowed() -> None:
    """Raise for a signal whose exception is gone.

    Python swallows what is raised inside some callbacks of its own, while it imports a module for one.

    Raises:
        Interrupted: a signal has come.
    """
    if _came:
        raise Interrupted(_came[0])


_came: Final[list[signal.Signals]] = []
"""The signals since the command began, but for those that the engine heard."""


def _take(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in CAUGHT:
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _came.append(signal.Signals(number))
    raise Interrupted(number)
