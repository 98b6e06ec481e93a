"""The backend behind an arm's proxy: it can be revoked, and it notes what was not the arm's fault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from anyio import get_cancelled_exc_class

from spec.canonical import Json, JsonObject, canonical_json
from spec.clock import Clock
from spec.environment import EnvironmentBackend, ProductVerifier, Screen, Tool, ToolError
from spec.reading import Verdict
from spec.text import describe

T = TypeVar("T")


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

    def live(self) -> EnvironmentBackend:
        """The fixture's environment, whose use counts as activity of the arm.

        Raises:
            ToolError: it is revoked.
        """
        if self._inner is None:
            raise ToolError("this environment is sealed: the trial is over")
        self.active_at = self._clock.monotonic()
        return self._inner

    async def watch(self, what: str, request: Callable[[], Awaitable[T]]) -> T:
        """Pass an answer on, and note a failure that is not the arm's doing."""
        try:
            return await request()
        except (ToolError, GeneratorExit, get_cancelled_exc_class()):
            raise
        except BaseException as error:
            self.fault = describe(error, what)
            raise

    @property
    def tools(self) -> Sequence[Tool]:
        """The fixture's tools."""
        return self.live().tools

    @property
    def verifier(self) -> ProductVerifier | None:
        """The fixture's product verifier, watched like the rest."""
        verifier = self.live().verifier
        return None if verifier is None else _WatchedVerifier(self, verifier)

    def verifier_by_name(self, name: str) -> ProductVerifier | None:
        """One of the fixture's product verifiers, watched like the rest; None where it has none of that name."""
        by_name = getattr(self.live(), "verifier_by_name", None)
        verifier = by_name(name) if by_name is not None and type(name) is str else None
        return None if verifier is None else _WatchedVerifier(self, verifier)

    async def attempt_intended_action(self) -> Screen:
        """Carry out the task's action."""
        return await self.watch("attempt_intended_action", self.live().attempt_intended_action)

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call a tool.

        Raises:
            ToolError: it is revoked, or the call is none that a provider has to be ready for.
        """
        backend = self.live()
        plain = _plain_arguments(tool, arguments)
        return await self.watch(f"tool {tool}", lambda: backend.call(tool, plain))


def _plain_arguments(tool: object, arguments: object) -> JsonObject:
    """The arguments of a call, if it is one: else the failure of a provider that was not ready for it would be its own.

    Raises:
        ToolError: the name is no text, or the arguments are no plain JSON.
    """
    if type(tool) is not str:
        raise ToolError(f"a tool's name must be text, not {type(tool).__name__}")
    if not isinstance(arguments, Mapping):
        raise ToolError(f"{tool}: the arguments must be a mapping, not {type(arguments).__name__}")
    try:
        plain = dict(arguments)
        canonical_json((tool, plain))
    except Exception as error:  # noqa: BLE001 - a mapping of the arm's may raise anything
        raise ToolError(describe(error, f"{tool}: the arguments must be plain JSON")) from None
    return plain


class _WatchedVerifier:
    __slots__ = ("_backend", "_inner")

    def __init__(self, backend: WatchedBackend, inner: ProductVerifier) -> None:
        self._backend, self._inner = backend, inner

    async def snapshot(self) -> None:
        self._backend.live()
        await self._backend.watch("verifier.snapshot", self._inner.snapshot)

    async def verify(self) -> Verdict:
        self._backend.live()
        return await self._backend.watch("verifier.verify", self._inner.verify)
