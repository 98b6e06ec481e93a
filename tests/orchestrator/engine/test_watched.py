"""The environment of a running arm: revocable, and honest about whose fault a failure is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import anyio
import pytest

from orchestrator.engine.watched import WatchedBackend
from spec.canonical import Json, JsonObject
from spec.clock import Clock
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.reading import Verdict

Request = Callable[[], Awaitable[object]]


class Verifier:
    def __init__(self, error: BaseException | None) -> None:
        self._error = error

    async def snapshot(self) -> None:
        await self.verify()

    async def verify(self) -> Verdict:
        if self._error is not None:
            raise self._error
        return Verdict.CONFIRMED


class Backend:
    """An environment that does what it is told to."""

    tools: Sequence[Tool] = (Tool("save", "Save.", {}),)

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.verifier: ProductVerifier | None = Verifier(error)

    async def attempt_intended_action(self) -> Screen:
        if self.error is not None:
            raise self.error
        return Screen(True, "saved")

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        if self.error is not None:
            raise self.error
        return [tool, dict(arguments)]


@pytest.mark.anyio
async def test_everything_is_passed_on(clock: Clock) -> None:
    """While the trial runs, the arm's backend is the fixture's."""
    watched = WatchedBackend(inner := Backend(), clock)
    assert watched.tools == inner.tools
    assert await watched.attempt_intended_action() == Screen(True, "saved")
    assert await watched.call("save", {"note": "x"}) == ["save", {"note": "x"}]
    verifier = watched.verifier
    assert verifier is not None
    await verifier.snapshot()
    assert await verifier.verify() is Verdict.CONFIRMED
    inner.verifier = None
    assert watched.verifier is None
    assert watched.fault is None


@pytest.mark.anyio
async def test_a_revoked_environment_refuses_everything(clock: Clock) -> None:
    """After the trial nothing gets through, and the refusal is nobody's fault."""
    watched = WatchedBackend(Backend(), clock)
    kept = watched.verifier
    assert kept is not None
    watched.revoke()
    save = partial(watched.call, "save", {})
    requests: tuple[Request, ...] = (watched.attempt_intended_action, save, kept.verify, kept.snapshot)
    for request in requests:
        with pytest.raises(ToolError, match="sealed"):
            await request()
    with pytest.raises(ToolError, match="sealed"):
        _ = watched.tools
    with pytest.raises(ToolError, match="sealed"):
        _ = watched.verifier
    assert watched.fault is None


@pytest.mark.anyio
async def test_a_tools_refusal_is_the_arms_business(clock: Clock) -> None:
    """A ToolError reaches the arm and is not noted."""
    watched = WatchedBackend(Backend(ToolError("no such field")), clock)
    verifier = watched.verifier
    assert verifier is not None
    save = partial(watched.call, "save", {})
    requests: tuple[Request, ...] = (watched.attempt_intended_action, save, verifier.verify)
    for request in requests:
        with pytest.raises(ToolError, match="no such field"):
            await request()
    assert watched.fault is None


CALLS_THAT_ARE_NONE = [
    (["save"], {}, "a tool's name must be text, not list"),
    ("save", None, "save: the arguments must be a mapping, not NoneType"),
    ("save", {3: "x"}, "save: the arguments must be plain JSON: TypeError"),
    ("save", {"note": object()}, "save: the arguments must be plain JSON: TypeError"),
    ("save", {"note": "\ud800"}, "save: the arguments must be plain JSON: TypeError"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("tool", "arguments", "reason"), CALLS_THAT_ARE_NONE)
async def test_a_call_that_is_none_is_the_arms_own(clock: Clock, tool: Any, arguments: Any, reason: str) -> None:
    """It never reaches the provider, so an arm cannot make its trial count as the provider's failure."""
    watched = WatchedBackend(Backend(ConnectionError("not asked")), clock)
    with pytest.raises(ToolError) as refused:
        await watched.call(tool, arguments)
    assert str(refused.value).startswith(reason)
    assert watched.fault is None


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ConnectionError("down"), SystemExit("down")])
@pytest.mark.parametrize("what", ["attempt_intended_action", "tool save", "verifier.snapshot", "verifier.verify"])
async def test_an_unplanned_failure_is_noted(clock: Clock, what: str, error: BaseException) -> None:
    """Whatever else fails behind the environment is the environment's fault, product verifier and exits included."""
    watched = WatchedBackend(Backend(error), clock)
    verifier = watched.verifier
    assert verifier is not None
    requests: dict[str, Request] = {
        "attempt_intended_action": watched.attempt_intended_action,
        "tool save": partial(watched.call, "save", {}),
        "verifier.snapshot": verifier.snapshot,
        "verifier.verify": verifier.verify,
    }
    with pytest.raises(type(error)):
        await requests[what]()
    assert watched.fault == f"{what}: {type(error).__name__}: down"


@pytest.mark.anyio
async def test_every_use_counts_as_activity(clock: Clock) -> None:
    """The time of the last use is kept, for arms that may not be idle."""
    watched = WatchedBackend(Backend(), clock)
    began = watched.active_at
    verifier = watched.verifier
    assert verifier is not None
    save = partial(watched.call, "save", {})
    requests: tuple[Request, ...] = (watched.attempt_intended_action, save, verifier.verify)
    for number, request in enumerate(requests, start=1):
        await anyio.sleep(10)
        assert watched.active_at == pytest.approx(began + 10 * (number - 1))
        await request()
        assert watched.active_at == pytest.approx(began + 10 * number)


@pytest.mark.anyio
async def test_named_verifiers_are_watched_too(clock: Clock) -> None:
    """A verifier by name is revoked and watched like the default one; where there are no names there is none."""

    class Several(Backend):
        def verifier_by_name(self, name: str) -> ProductVerifier | None:
            return Verifier(OSError("no database")) if name == "sql" else None

    watched = WatchedBackend(Several(), clock)
    assert watched.verifier_by_name("rest") is None
    assert WatchedBackend(Backend(), clock).verifier_by_name("sql") is None
    kept = watched.verifier_by_name("sql")
    assert kept is not None
    with pytest.raises(OSError, match="no database"):
        await kept.verify()
    assert watched.fault is not None
    watched.revoke()
    with pytest.raises(ToolError):
        await kept.verify()
    with pytest.raises(ToolError):
        watched.verifier_by_name("sql")
