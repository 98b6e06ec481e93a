"""The proxies through which an arm acts.

A proxy holds nothing: the backend of the running trial stands in a context variable that the worker sets before it
runs the arm. So no attribute, closure or global that an arm can walk from here meets a fixture's store, and a
proxy kept from an earlier trial acts on nothing but the trial in which it is used. Types are imported for the
checker only, because a class in these globals leads to its module's globals; a refusal is raised anew, because the
backend's own exception carries a traceback whose frames hold the backend.
"""

from __future__ import annotations

from contextvars import ContextVar

from spec.environment import ToolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable
    from typing import TypeVar

    from spec.canonical import Json, JsonObject
    from spec.environment import EnvironmentBackend, ProductVerifier, Screen
    from spec.reading import Verdict

    T = TypeVar("T")

_backend: ContextVar[EnvironmentBackend | None] = ContextVar("environment_backend", default=None)


def bind_environment(backend: EnvironmentBackend | None) -> None:
    """Make ``backend`` the environment of what runs in this context from now on (engine only)."""
    _backend.set(backend)


def bound_environment() -> EnvironmentBackend:
    """The environment of what runs in this context.

    Raises:
        ToolError: there is none; the trial is over.
    """
    backend = _backend.get()
    if backend is None:
        raise ToolError("this environment is closed: the trial is over")
    return backend


def _find_verifier(name: str) -> ProductVerifier | None:
    backend = bound_environment()
    if not name:
        return backend.verifier
    by_name = getattr(backend, "verifier_by_name", None)
    return None if by_name is None else by_name(name)


def _bound_verifier(name: str) -> ProductVerifier:
    verifier = _find_verifier(name)
    if verifier is None:
        raise ToolError(f"this environment has no verifier {name}".rstrip())
    return verifier


async def _answer(request: Awaitable[T]) -> T:
    try:
        return await request
    except ToolError as error:
        refusal = ToolError(*error.args)
    raise refusal


class Verifier:
    """A verifier of the product's own; a different thing from the oracle.

    Args:
        name: which of them; "" is the one that the product offers by default.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str = "") -> None:
        self._name = name

    async def snapshot(self) -> None:
        """Remember the record before acting.

        Raises:
            ToolError: the environment is sealed or has no verifier.
        """
        await _answer(_bound_verifier(self._name).snapshot())

    async def verify(self) -> Verdict:
        """Ask whether the trial's effect is there.

        Raises:
            ToolError: the environment is sealed or has no verifier.
        """
        return await _answer(_bound_verifier(self._name).verify())


class Environment:
    """What an arm acts in."""

    __slots__ = ()

    @property
    def verifier(self) -> Verifier | None:
        """The product's verifier, or None where the product has none."""
        return self.verifier_by_name("")

    def verifier_by_name(self, name: str) -> Verifier | None:
        """One of the product's verifiers, or None where it has none of that name."""
        return None if _find_verifier(name) is None else Verifier(name)

    async def attempt_intended_action(self) -> Screen:
        """Carry out the task's action once; for scripted arms that choose nothing themselves.

        Raises:
            ToolError: the environment is sealed.
        """
        return await _answer(bound_environment().attempt_intended_action())

    async def call(self, tool: str, /, **arguments: Json) -> Json:
        """Call a tool by its name.

        Raises:
            ToolError: the call is wrong or the environment is sealed; its text lists every problem.
        """
        return await _answer(bound_environment().call(tool, arguments))

    async def call_with(self, tool: str, arguments: JsonObject) -> Json:
        """As ``call``, with the arguments as one mapping.

        Raises:
            ToolError: the call is wrong or the environment is sealed; its text lists every problem.
        """
        return await _answer(bound_environment().call(tool, arguments))
