"""The first signal drains, the second one stops, and the exit code tells which came first."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

import anyio
import pytest

from orchestrator.engine.signals import Signals, signals_returned


class Told:
    """A driver that only writes down what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def drain(self) -> None:
        self.calls.append("drain")

    def stop(self) -> None:
        self.calls.append("stop")


def not_told(text: str) -> None:
    raise AssertionError(text)


async def send(number: int) -> None:
    """Send this process a signal, and give the listener its turn."""
    os.kill(os.getpid(), number)
    await anyio.sleep(0.01)
    await anyio.wait_all_tasks_blocked()


@pytest.mark.anyio
@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_the_first_drains_and_the_second_stops(number: signal.Signals, exit_code: int) -> None:
    """A person is told once what the first one did and what a second one would do."""
    notices: list[str] = []
    signals, driver = Signals(notices.append, 30), Told()
    listening: Any = driver
    assert signals.exit_code is None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signals.listen, listening)
        await anyio.wait_all_tasks_blocked()
        await send(number)
        assert driver.calls == ["drain"]
        codes = [signals.exit_code]
        assert len(notices) == 1
        assert number.name in notices[0]
        assert "30 s" in notices[0]
        await send(signal.SIGTERM)
        assert driver.calls == ["drain", "stop"]
        assert [*codes, signals.exit_code] == [exit_code, exit_code]
        assert len(notices) == 1
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_afterwards_signals_are_as_before() -> None:
    """When nobody listens any more, the handlers are those from before."""
    before = signal.getsignal(signal.SIGTERM)
    driver: Any = Told()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Signals(not_told, 1).listen, driver)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert signal.getsignal(signal.SIGTERM) == before


def test_outside_the_main_thread_it_only_waits() -> None:
    """In a notebook's thread no signal can arrive, so listening neither fails nor ends."""
    ended: list[str] = []

    async def main() -> None:
        driver: Any = Told()
        with anyio.move_on_after(0) as scope:
            await Signals(not_told, 1).listen(driver)
        ended.append("cancelled" if scope.cancelled_caught else "returned")

    thread = threading.Thread(target=anyio.run, args=(main,))
    thread.start()
    thread.join(20)
    assert ended == ["cancelled"]


@pytest.mark.anyio
async def test_who_took_the_signals_before_takes_them_again() -> None:
    """Behind the listener stands the handler from before it, not the system's, which would kill the process."""
    listening: Any = Told()
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Signals(not_told, 30).listen, listening)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_a_signal_that_somebody_answered_with_exit_reaches_who_had_it() -> None:
    """While Ray starts it takes SIGTERM and exits: the handler from before is told, and stays."""
    heard: list[int] = []

    def hear(number: int, _: object) -> None:
        heard.append(number)

    def start_as_ray_does() -> None:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number))
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, hear)
    try:
        with pytest.raises(SystemExit), signals_returned():
            start_as_ray_does()
        left = signal.getsignal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (heard, left) == ([signal.SIGTERM], hear)


@pytest.mark.parametrize("code", [0, 1, None, "no"])
def test_an_exit_for_another_reason_is_no_signal(code: object) -> None:
    """``sys.exit`` for a reason of its own goes on as it came."""
    with pytest.raises(SystemExit) as raised, signals_returned():
        raise SystemExit(code)
    assert raised.value.code == code
