"""Time for the tests: an event loop on which waiting costs nothing.

Whenever nothing can run, the loop's own time jumps to the next timer. So a deadline of an hour passes at once, in the
order in which it would pass, and no test sleeps. Where a thread is at work, the loop gives it a moment before it jumps.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar
from unittest.mock import patch

import anyio
import pytest
from anyio.lowlevel import checkpoint

from spec.clock import Clock
from tests.support.postgres import postgres_database, postgres_server

__all__ = ["postgres_database", "postgres_server"]

T = TypeVar("T")
Virtual = Callable[[Callable[[], Awaitable[T]]], T]

THREAD_MOMENT_S: Final = 0.01
EPOCH: Final = datetime(2026, 1, 31, 12, tzinfo=UTC)


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing but threads; its time is the loop's time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0 and threading.active_count() > 1:
            ready = super().select(THREAD_MOMENT_S)
        if not ready and timeout > 0:
            self.now_s += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


class LoopClock:
    """A clock that shows the time of the running loop."""

    def monotonic(self) -> float:
        return anyio.current_time()

    def utc_now(self) -> str:
        return (EPOCH + timedelta(seconds=anyio.current_time())).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


async def at_once(function: Callable[..., T], *arguments: object, **_: object) -> T:
    """Stands for a thread that is quick: others may run before it, and then it is done."""
    await checkpoint()
    return function(*arguments)


def run_virtual(main: Callable[[], Awaitable[T]]) -> T:
    """Run ``main`` to its end on a loop of its own; what would go to a thread runs on the loop."""
    with patch("anyio.to_thread.run_sync", at_once):
        return anyio.run(main, backend_options={"loop_factory": VirtualLoop})


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Tests marked ``anyio`` run on asyncio, on a loop whose time jumps."""
    return "asyncio", {"loop_factory": VirtualLoop}


@pytest.fixture(scope="session")
def clock() -> Clock:
    """The time of the running loop."""
    return LoopClock()


@pytest.fixture(scope="session")
def virtual() -> Callable[[Callable[[], Awaitable[Any]]], Any]:
    """Runs an async function on a loop whose time jumps and without threads; for tests that draw examples."""
    return run_virtual
