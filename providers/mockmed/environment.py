"""What an arm acts in: a client behind a seal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from providers.mockmed.client import Client
from providers.mockmed.tools import TOOL_NAMES, call_problems, published_tools
from providers.mockmed.verifier import RecordVerifier
from spec.canonical import Json, JsonObject
from spec.environment import Screen, Tool, ToolError

_TOOLS: Final = published_tools()
_HANDLERS: Final[Mapping[str, Callable[..., Json]]] = {name: getattr(Client, name) for name in TOOL_NAMES}


class MockMedEnvironment:
    """The environment of one fixture. Nothing in it ever waits.

    Args:
        client: the session that the arm acts through.
        verifier: the product's own verifier, or None where the task's effect is undeclared.
    """

    __slots__ = ("_client", "_verifier")

    def __init__(self, client: Client, verifier: RecordVerifier | None) -> None:
        self._client: Client | None = client
        self._verifier = verifier

    @property
    def tools(self) -> Sequence[Tool]:
        """The typed tools, the same in every task."""
        return _TOOLS

    @property
    def verifier(self) -> RecordVerifier | None:
        """The product's own verifier, or None."""
        return self._verifier

    async def attempt_intended_action(self) -> Screen:
        """Save the intended encounter once without looking at anything.

        Raises:
            ToolError: the environment is sealed.
        """
        return self._open_client().scripted_save()

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call one tool.

        Raises:
            ToolError: the environment is sealed or the call is wrong; the text lists every problem.
        """
        client = self._open_client()
        problems = call_problems(tool, arguments)
        if problems:
            raise ToolError("; ".join(problems))
        return _HANDLERS[tool](client, **arguments)

    def seal(self) -> None:
        """Refuse every later call and let go of the record."""
        self._client = None
        if self._verifier is not None:
            self._verifier.seal()

    def _open_client(self) -> Client:
        if self._client is None:
            raise ToolError("this environment is sealed")
        return self._client
