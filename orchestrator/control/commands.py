"""What a run does when it is asked something: every accepted command is noted in the journal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from anyio import CapacityLimiter, Lock, to_thread

from orchestrator.control.base import Controllable
from orchestrator.control.place import identity
from orchestrator.control.protocol import TEXT_CHARS_MAX, Answer, Command, Look, Request, Set, ViewTold, refusal
from orchestrator.control.settings import store_setting
from spec.errors import ConfigError, ConfigErrors, OrchestratorError

ENDING: Final = "the run is ending"


class Commands:
    """Carries out requests on a run at work, in the order in which they come.

    Args:
        run: the run.
        run_dir: its directory.
        environ: environment variables for ``${NAME}`` of its configuration.
        note: writes one line into the journal.
        adjusted: told each live key with its new value, beside the run itself.
    """

    def __init__(
        self,
        run: Controllable,
        run_dir: Path,
        *,
        environ: Mapping[str, str],
        note: Callable[[str], Awaitable[None]],
        adjusted: Callable[[str, int | float], None],
    ) -> None:
        self._run, self._run_dir, self._environ, self._note, self._adjusted = run, run_dir, environ, note, adjusted
        self._identity = identity(run_dir)
        self._one_at_a_time = Lock()
        self._thread = CapacityLimiter(1)  # of its own: arms may fill the common pool

    async def answer(self, request: Request) -> Answer:
        """Do what is asked.

        Raises:
            JournalUnwritable: the journal refused the note.
        """
        if request.run != self._identity:
            return refusal("this is the control of another run directory", hint="was the directory copied?")
        if isinstance(request, Look):
            return Answer(done=True, view=ViewTold.of(self._run.look(), key=request.key))
        async with self._one_at_a_time:
            return await (self._set(request) if isinstance(request, Set) else self._command(request))

    async def _command(self, request: Command) -> Answer:
        run, ending = self._run, self._run.look().draining
        if request.do == "pause":
            return (
                refusal(ENDING) if ending else await self._done(run.pause, "paused: no new trials, what runs goes on")
            )
        if request.do == "unpause":
            return refusal(ENDING) if ending else await self._done(run.unpause, "no longer paused")
        if request.do == "drain":
            text = f"stopped: no new trials, what runs may end; `resume {self._run_dir}` goes on with the rest"
            return Answer(done=True, text=f"{ENDING} already") if ending else await self._done(run.drain, text)
        return await self._done(run.cancel, "stopped: what is owed is cancelled, what runs too")

    async def _set(self, request: Set) -> Answer:
        if self._run.look().draining:
            return refusal(ENDING, hint=f"`resume {self._run_dir} --set {request.text}` goes on with it")
        try:
            setting = await to_thread.run_sync(
                store_setting, self._run_dir, self._environ, request.text, limiter=self._thread
            )
        except OrchestratorError as error:
            return _refused(error)

        def adjust() -> None:
            self._run.adjust(setting.key, setting.new)
            self._adjusted(setting.key, setting.new)

        return await self._done(adjust, f"{setting.key} is {setting.new}, was {setting.old}")

    async def _done(self, act: Callable[[], None], text: str) -> Answer:
        """Write it down, then act: what is done is in the journal, even where it ends the run."""
        await self._note(f"on request: {text}")
        act()
        return Answer(done=True, text=text[:TEXT_CHARS_MAX])


def _refused(error: OrchestratorError) -> Answer:
    first: Exception = error.errors[0] if isinstance(error, ConfigErrors) else error
    if isinstance(first, ConfigError):
        return refusal(first.message, hint=first.hint, key=first.key)
    return refusal(str(first))
