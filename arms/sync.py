"""The environment with plain methods, for arms that block in a thread of their own.

Every method hands its work to the event loop that started the thread and waits for the answer.
"""

from __future__ import annotations

from arms.environment import Environment, Verifier, bound_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeVar

    from spec.canonical import Json, JsonObject
    from spec.environment import Screen
    from spec.reading import Verdict

    T = TypeVar("T")


def _on_loop(function: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
    # Imported here: as a global of this module it would lead from an arm's environment to ``sys.modules``.
    from anyio.from_thread import run

    bound_environment()  # refuses at once where the trial is over, and in a forked copy, which has no loop to wait for
    return run(function, *arguments)


class SyncVerifier:
    """A verifier of the product's with plain methods; see ``arms.environment.Verifier``."""

    __slots__ = ("_name",)

    def __init__(self, name: str = "") -> None:
        self._name = name

    def snapshot(self) -> None:
        """Remember the record before acting; see ``arms.environment.Verifier.snapshot``."""
        _on_loop(Verifier(self._name).snapshot)

    def verify(self) -> Verdict:
        """Ask whether the trial's effect is there; see ``arms.environment.Verifier.verify``."""
        return _on_loop(Verifier(self._name).verify)


class SyncEnvironment:
    """What a blocking arm acts in; see ``arms.environment.Environment``."""

    __slots__ = ()

    @property
    def verifier(self) -> SyncVerifier | None:
        """The product's verifier, or None where the product has none."""
        return self.verifier_by_name("")

    def verifier_by_name(self, name: str) -> SyncVerifier | None:
        """One of the product's verifiers, or None where it has none of that name."""
        return None if Environment().verifier_by_name(name) is None else SyncVerifier(name)

    def attempt_intended_action(self) -> Screen:
        """Carry out the task's action once; see ``Environment.attempt_intended_action``."""
        return _on_loop(Environment().attempt_intended_action)

    def call(self, tool: str, /, **arguments: Json) -> Json:
        """Call a tool by its name; see ``Environment.call``."""
        return self.call_with(tool, arguments)

    def call_with(self, tool: str, arguments: JsonObject) -> Json:
        """As ``call``, with the arguments as one mapping; see ``Environment.call_with``."""
        return _on_loop(Environment().call_with, tool, arguments)
