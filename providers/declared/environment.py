"""What an arm acts in: the declared tools behind a seal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from providers.declared.answers import read_banner
from providers.declared.model import Action
from providers.declared.templates import fill
from providers.declared.tools.base import BoundTool, Checked
from spec.canonical import Json, JsonObject
from spec.environment import Screen, Tool, ToolError

_SEALED = "this environment is sealed"
_NO_ACTION = "this task declares no intended action, so no scripted arm can work on it"


class DeclaredEnvironment:
    """The environment of one fixture.

    Args:
        tools: what can be called.
        checked: refuses calls that do not fit.
        action: what a scripted arm does, or None.
        values: what the action's places stand for.
    """

    __slots__ = ("_action", "_checked", "_tools", "_values")

    def __init__(
        self, tools: Sequence[BoundTool], checked: Checked, action: Action | None, values: Mapping[str, Json]
    ) -> None:
        self._tools: dict[str, BoundTool] | None = {bound.tool.name: bound for bound in tools}
        self._checked, self._action, self._values = checked, action, values

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools, in the declaration's order."""
        return tuple(bound.tool for bound in self._open().values())

    @property
    def verifier(self) -> None:
        """A declared environment has no product verifier."""
        return

    async def attempt_intended_action(self) -> Screen:
        """Carry out the declared action once and read its banner.

        Raises:
            ToolError: the environment is sealed, or the task declares no action.
        """
        tools = self._open()
        if self._action is None:
            raise ToolError(_NO_ACTION)
        arguments = fill(self._action.arguments, self._values)
        assert isinstance(arguments, dict)
        self._checked.check(self._action.tool, arguments)
        answer = await tools[self._action.tool].call(arguments)
        return read_banner(answer, self._action.banner)

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """Call one tool; what it answers has a status and a body.

        Raises:
            ToolError: the environment is sealed or the call is wrong; the text lists every problem.
        """
        tools = self._open()
        self._checked.check(tool, arguments)
        return (await tools[tool].call(arguments)).as_json()

    def seal(self) -> None:
        """Refuse every later call."""
        self._tools = None

    def _open(self) -> dict[str, BoundTool]:
        if self._tools is None:
            raise ToolError(_SEALED)
        return self._tools
