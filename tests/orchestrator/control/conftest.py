"""A run directory whose lock is held, a run that only writes down what it is told, and its control in a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import pytest

import orchestrator
from orchestrator.control.live import LiveControl
from orchestrator.control.place import linked_socket
from orchestrator.engine.view import RunView, TrialView
from orchestrator.runlock import RunLock
from spec.clock import SystemClock

KEY: Final = "screen_only::mockmed::ok::t0"
START_S: Final = 10.0


def trial_view(key: str = KEY, attempt: int = 1, phase: str = "running") -> TrialView:
    """A trial on its way."""
    return TrialView(key, attempt, phase, "worker-0", "oracle-0", 3.0, 2.0, "Ready", "worker-0 ends the arm")


class ToldRun:
    """A run that writes down what it is told.

    Attributes:
        calls: what it was told, in order.
        trials: what it says is on its way.
        draining: what it says of itself.
    """

    def __init__(self) -> None:
        self.calls: list[object] = []
        self.trials: tuple[TrialView, ...] = (trial_view(),)
        self.paused = self.draining = False

    def pause(self) -> None:
        self.calls.append("pause")
        self.paused = True

    def unpause(self) -> None:
        self.calls.append("unpause")
        self.paused = False

    def drain(self) -> None:
        self.calls.append("drain")
        self.draining = True

    def cancel(self) -> None:
        self.calls.append("cancel")
        self.draining = True

    def adjust(self, key: str, value: int | float) -> None:
        self.calls.append((key, value))

    def look(self) -> RunView:
        return RunView(self.paused, self.draining, 0.5, 256, self.trials)


class Hosted:
    """A control that is served.

    Attributes:
        run: what it controls.
        notes: what was written into the journal.
        notices: what a person was told.
    """

    def __init__(self) -> None:
        self.run = ToldRun()
        self.notes: list[str] = []
        self.notices: list[str] = []

    async def note(self, text: str) -> None:
        self.notes.append(text)

    def control(self, run_dir: Path, session: int = 1) -> LiveControl:
        return LiveControl(
            self.run,
            run_dir,
            session=session,
            heartbeat_s=0.05,
            environ={},
            clock=SystemClock(),
            note=self.note,
            notice=self.notices.append,
        )


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run of two tasks, two trials each."""
    tables = {
        "run": {"trials": 2},
        "engine": {"kind": "inline"},
        "provider": {"tasks": ["mockmed::ok", "mockmed::partial"]},
        "arms": [{"name": "screen_only"}],
    }
    orchestrator.run(tables, run_dir=tmp_path / "run")
    return tmp_path / "run"


@contextmanager
def hosting(run_dir: Path) -> Iterator[Hosted]:
    """Serve the control of a directory from another thread, as its run would."""
    hosted, stopped = Hosted(), threading.Event()

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hosted.control(run_dir).serve)
            await anyio.to_thread.run_sync(stopped.wait)
            tasks.cancel_scope.cancel()

    with RunLock.acquire(run_dir):
        thread = threading.Thread(target=partial(anyio.run, serve))
        thread.start()
        try:
            until_s = SystemClock().monotonic() + START_S
            while linked_socket(run_dir) is None and SystemClock().monotonic() < until_s:
                stopped.wait(0.01)
            yield hosted
        finally:
            stopped.set()
            thread.join()


@pytest.fixture
def hosted(run_dir: Path) -> Iterator[Hosted]:
    """The control of ``run_dir``, served."""
    with hosting(run_dir) as found:
        yield found


@pytest.fixture
def view_of() -> Callable[..., TrialView]:
    """Makes a trial on its way."""
    return trial_view


@pytest.fixture
def told_run() -> ToldRun:
    """A run that writes down what it is told."""
    return ToldRun()
