"""The backend behind an arm's proxy: it can be revoked, and it notes what was not the arm's fault."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.clock import Clock
from spec.canonical import Json, JsonObject
from spec.environment import EnvironmentBackend, ProductVerifier, Screen, Tool, ToolError


class WatchedBackend:
    """A fixture's environment for the time of one arm.

    Attributes:
        fault: what the environment itself did wrong, or None; then the attempt is nobody's verdict.
        active_at: when the arm last used it, seconds of the monotonic clock.
    """

    __slots__ = ("_clock", "_inner", "active_at", "fault")

    def __init__(self, inner: EnvironmentBackend, clock: Clock) -> None:
        self._inner: EnvironmentBackend | None = inner
        self._clock = clock
        self.active_at = clock.monotonic()
        self.fault: str | None = None

    def revoke(self) -> None:
        """Refuse everything from now on and let go of the fixture."""
        self._inner = None

    def _live(self) -> EnvironmentBackend:
        if self._inner is None:
            raise ToolError("this environment is sealed: the trial is over")
        self.active_at = self._clock.monotonic()
        return self._inner

    @property
    def tools(self) -> Sequence[Tool]:
        """The fixture's tools."""
        return self._live().tools

    @property
    def verifier(self) -> ProductVerifier | None:
        """The fixture's product verifier."""
        return self._live().verifier

    async def attempt_intended_action(self) -> Screen:
        """Pass on, and note what fails without being the arm's doing."""
        backend = self._live()
        try:
            return await backend.attempt_intended_action()
        except ToolError:
            raise
        except Exception as error:
            self.fault = f"attempt_intended_action: {type(error).__name__}: {error}"
            raise

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Pass on, and note what fails without being the arm's doing."""
        backend = self._live()
        try:
            return await backend.call(tool, arguments)
        except ToolError:
            raise
        except Exception as error:
            self.fault = f"tool {tool}: {type(error).__name__}: {error}"
            raise
