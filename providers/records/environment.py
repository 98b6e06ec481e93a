"""What an arm acts in: a client of the application behind a seal, and the product's verifiers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from providers.records.client import Client
from providers.records.tools import TOOL_NAMES, call_problems, published_tools
from providers.records.verifier import ReadBack
from spec.canonical import Json, JsonObject
from spec.environment import Screen, Tool, ToolError

DEFAULT: Final = "record"
"""The verifier that the product offers where none is asked for by name."""

_TOOLS: Final = published_tools()
_HANDLERS: Final[Mapping[str, Callable[..., Awaitable[Json]]]] = {name: getattr(Client, name) for name in TOOL_NAMES}


class RecordsEnvironment:
    """The environment of one fixture.

    Args:
        client: the session that the arm acts through.
        verifiers: the product's verifiers by name.
    """

    __slots__ = ("_client", "_verifiers")

    def __init__(self, client: Client, verifiers: Mapping[str, ReadBack]) -> None:
        self._client: Client | None = client
        self._verifiers = verifiers

    @property
    def tools(self) -> Sequence[Tool]:
        """The typed tools, the same in every task."""
        return _TOOLS

    @property
    def verifier(self) -> ReadBack | None:
        """The verifier that reads the whole record, or None where the task's effect is undeclared."""
        return self._verifiers.get(DEFAULT)

    def verifier_by_name(self, name: str) -> ReadBack | None:
        """``rest``, ``sql`` or ``record``; None for another name, and where the task's effect is undeclared."""
        return self._verifiers.get(name)

    async def attempt_intended_action(self) -> Screen:
        """Save the intended encounter once.

        Raises:
            ToolError: the environment is sealed.
            spec.errors.ProviderFault: the service fails without being meant to.
        """
        return await self._open_client().scripted_save()

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call one tool.

        Raises:
            ToolError: the environment is sealed or the call is wrong; the text lists every problem.
            spec.errors.ProviderFault: the service fails without being meant to.
        """
        client = self._open_client()
        problems = call_problems(tool, arguments)
        if problems:
            raise ToolError("; ".join(problems))
        return await _HANDLERS[tool](client, **arguments)

    def seal(self) -> None:
        """Refuse every later call and let go of the session."""
        self._client = None
        for verifier in self._verifiers.values():
            verifier.seal()

    def _open_client(self) -> Client:
        if self._client is None:
            raise ToolError("this environment is sealed")
        return self._client
