"""Signals to a run: the first one drains, the second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import anyio

from orchestrator.engine.driver import Driver

LISTENED: Final = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Listens for signals while a driver runs.

    Args:
        notice: told in one line what a person should know.
        drain_s: how long a drain may take, for the notice.

    Attributes:
        received: the first signal, or None.
    """

    def __init__(self, notice: Callable[[str], None], drain_s: float) -> None:
        self._notice, self._drain_s = notice, drain_s
        self.received: signal.Signals | None = None

    @property
    def exit_code(self) -> int | None:
        """128 and the signal's number, or None."""
        return None if self.received is None else 128 + self.received

    async def listen(self, driver: Driver) -> None:
        """Pass signals to a driver until cancelled; does nothing outside the main thread, where none arrive."""
        if threading.current_thread() is not threading.main_thread():
            await anyio.sleep_forever()
        with handlers_kept(), anyio.open_signal_receiver(*LISTENED) as signals:
            async for number in signals:
                if self.received is None:
                    self.received = number
                    self._notice(
                        f"{number.name}: no new trials; what runs may end within {self._drain_s:g} s. "
                        "Once more stops at once"
                    )
                    driver.drain()
                else:
                    driver.stop()


@contextmanager
def handlers_kept() -> Iterator[None]:
    """Put back who took the signals before; the event loop would leave them to the system, which kills."""
    before = {number: signal.getsignal(number) for number in LISTENED}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: not set from Python, so it cannot be put back
                signal.signal(number, handler)


@contextmanager
def signals_returned() -> Iterator[None]:
    """Run code that takes SIGTERM for itself and answers it with ``sys.exit``, as ``ray.init`` does.

    Whoever had the signals before has them again afterwards, and is given the one that arrived meanwhile.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        with handlers_kept():
            yield
    except SystemExit as error:
        if error.code in LISTENED:
            signal.raise_signal(signal.Signals(error.code))
        raise
