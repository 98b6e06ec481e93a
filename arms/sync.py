"""The environment with plain methods, for arms that block in a thread of their own."""

from __future__ import annotations

from anyio import from_thread

from arms.environment import Environment
from spec.canonical import Json, JsonObject
from spec.environment import Screen
from spec.reading import Verdict


class SyncVerifier:
    """The product's verifier with plain methods."""

    __slots__ = ()

    def snapshot(self) -> None:
        """Remember the record before acting."""
        verifier = Environment().verifier
        if verifier is not None:
            from_thread.run(verifier.snapshot)

    def verify(self) -> Verdict:
        """Ask whether the trial's effect is there."""
        verifier = Environment().verifier
        return Verdict.INDETERMINATE if verifier is None else from_thread.run(verifier.verify)


class SyncEnvironment:
    """What a blocking arm acts in; see ``arms.environment.Environment``."""

    __slots__ = ()

    @property
    def verifier(self) -> SyncVerifier | None:
        """The product's verifier, or None where the product has none."""
        return None if Environment().verifier is None else SyncVerifier()

    def attempt_intended_action(self) -> Screen:
        """Carry out the task's action once."""
        return from_thread.run(Environment().attempt_intended_action)

    def call(self, tool: str, /, **arguments: Json) -> Json:
        """Call a tool by its name."""
        return self.call_with(tool, arguments)

    def call_with(self, tool: str, arguments: JsonObject) -> Json:
        """As ``call``, with the arguments as one mapping."""
        return from_thread.run(Environment().call_with, tool, arguments)
