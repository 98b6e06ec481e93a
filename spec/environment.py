"""The environment: the only thing of a fixture that an arm can use.

A provider writes an ``EnvironmentBackend``; an arm sees it through the proxy of ``arms.environment``. Everything an
arm learns of the outcome of an action is a ``Screen``: what the client painted, which may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from spec.canonical import Json, JsonObject
from spec.reading import Verdict


class Tool(NamedTuple):
    """A tool that an agent may call.

    Attributes:
        name: the name to call it by.
        description: one sentence for the agent.
        parameters: JSON Schema of the arguments, an object schema.
    """

    name: str
    description: str
    parameters: JsonObject


class Screen(NamedTuple):
    """What the client painted after an action; the banner is all an arm sees of the outcome.

    Attributes:
        saved: the banner says that the action succeeded.
        banner: its text.
        error: what the client noticed by itself: a time-out, or an answer that is no success; "" where all went well.
    """

    saved: bool
    banner: str
    error: str = ""


class ToolError(Exception):
    """Raised by a tool when the call itself is wrong (unknown tool, bad arguments, sealed environment)."""


class ProductVerifier(Protocol):
    """A verifier that a product may offer to its own users; never the oracle."""

    async def snapshot(self) -> None:
        """Remember the record as it is before the action."""

    async def verify(self) -> Verdict:
        """Compare the record with the trial's contract and the remembered state."""


class EnvironmentBackend(Protocol):
    """What stands behind the proxy that an arm holds. Bound to one fixture.

    Optional besides: ``verifier_by_name(name)``, for a product that offers several verifiers; it answers one, or None
    where it has none of that name.
    """

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools for agents that choose for themselves."""

    @property
    def verifier(self) -> ProductVerifier | None:
        """The product's own verifier, or None where it has none."""

    async def attempt_intended_action(self) -> Screen:
        """Carry out the task's action once, as a scripted arm would."""

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call one tool.

        Raises:
            ToolError: the tool is unknown, the arguments do not fit its schema, or the environment is sealed.
        """
