"""Everything with which a run at work is looked at and steered, as one thing for its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio

from orchestrator.control.base import Controllable
from orchestrator.control.commands import Commands
from orchestrator.control.lastlook import LookKeeper
from orchestrator.control.server import serve_control
from spec.clock import Clock


class LiveControl:
    """Serves a run's control and keeps its last look.

    Args:
        run: the run at work.
        run_dir: its directory, whose lock is held.
        session: which session of the run this is, from 1.
        heartbeat_s: seconds between two looks that are kept.
        environ: environment variables for ``${NAME}`` of its configuration.
        clock: where time comes from.
        note: writes one line into the journal.
        notice: told in one line what a person should know.
    """

    def __init__(
        self,
        run: Controllable,
        run_dir: Path,
        *,
        session: int,
        heartbeat_s: float,
        environ: Mapping[str, str],
        clock: Clock,
        note: Callable[[str], Awaitable[None]],
        notice: Callable[[str], None],
    ) -> None:
        self._run_dir, self._clock, self._note, self._notice = run_dir, clock, note, notice
        self._keeper = LookKeeper(run_dir, session, heartbeat_s, run.look, clock=clock)
        self._commands = Commands(run, run_dir, environ=environ, note=self._noted, adjusted=self._adjusted)

    async def serve(self) -> None:
        """Serve until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keeper.keep)
            await serve_control(self._run_dir, self._commands.answer, clock=self._clock, notice=self._notice)

    async def _noted(self, text: str) -> None:
        self._notice(text)
        await self._note(text)

    def _adjusted(self, key: str, value: int | float) -> None:
        if key == "limits.heartbeat_s":
            self._keeper.every_s = value
