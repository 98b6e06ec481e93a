"""Signals outside of the engine end a command, and are given back afterwards."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import anyio
import pytest

from orchestrator.cli.interrupts import (
    CAUGHT,
    Interrupted,
    catch_signals,
    note_signals,
    raise_swallowed,
    settle_signals,
    signals_caught,
)
from orchestrator.cli.watching import QuietWatcher


@pytest.mark.parametrize("number", CAUGHT)
def test_a_signal_is_raised_where_it_finds_the_command(number: signal.Signals) -> None:
    """Each signal raises with its exit code; afterwards its handler is the one from before."""
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, signals_caught():
        signal.raise_signal(number)
    assert caught.value.exit_code == 128 + number
    assert signal.getsignal(number) is before


def test_signals_are_taken_back_from_the_engine() -> None:
    """The engine's listener drops the handlers at its end; taking them again makes them ours."""

    async def listen_once() -> None:
        with anyio.open_signal_receiver(*CAUGHT):
            await anyio.lowlevel.checkpoint()

    with signals_caught():
        ours = [signal.getsignal(number) for number in CAUGHT]
        anyio.run(listen_once)
        assert [signal.getsignal(number) for number in CAUGHT] != ours
        catch_signals()
        assert [signal.getsignal(number) for number in CAUGHT] == ours


def test_an_interrupt_is_no_error() -> None:
    """Like KeyboardInterrupt it passes every handler of errors by."""
    assert not issubclass(Interrupted, Exception)


@pytest.mark.parametrize("number", CAUGHT)
def test_after_the_trials_a_signal_is_noted(number: signal.Signals) -> None:
    """The first one raises nothing and is told when asked; a second one is called about; then they do nothing."""
    second: list[signal.Signals] = []
    with signals_caught():
        note_signals(second.append)
        signal.raise_signal(number)
        assert second == []
        signal.raise_signal(number)
        assert second == [number]
        assert settle_signals() is number
        signal.raise_signal(number)
        assert second == [number]


def test_a_signal_whose_exception_was_swallowed_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised where Python ignores exceptions, a signal still ends the command before its first trial."""

    class Callback:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGTERM)

    swallowed: list[object] = []
    with signals_caught():
        raise_swallowed()
        monkeypatch.setattr(sys, "unraisablehook", swallowed.append)
        Callback()
        assert len(swallowed) == 1
        with pytest.raises(Interrupted):
            QuietWatcher().started(Path("run"), 1, 1)
        assert settle_signals() is signal.SIGTERM
    with signals_caught():
        raise_swallowed()
