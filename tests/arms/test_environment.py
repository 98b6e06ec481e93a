"""The proxy acts on the backend that is bound in its context, and on nothing else."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from arms.environment import Environment, Verifier, bind_environment
from spec.canonical import Json, JsonObject
from spec.environment import Screen, Tool, ToolError
from spec.reading import Verdict

Finish = Callable[..., Any]


class ConfirmingVerifier:
    def __init__(self) -> None:
        self.snapshots = 0

    async def snapshot(self) -> None:
        self.snapshots += 1

    async def verify(self) -> Verdict:
        return Verdict.CONFIRMED


class EchoBackend:
    """Answers a call with what it was called with."""

    def __init__(self, verifier: ConfirmingVerifier | None = None) -> None:
        self._verifier = verifier

    @property
    def tools(self) -> Sequence[Tool]:
        return ()

    @property
    def verifier(self) -> ConfirmingVerifier | None:
        return self._verifier

    async def attempt_intended_action(self) -> Screen:
        return Screen(saved=True, banner="done")

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        if tool == "refused":
            raise ToolError("no such thing")
        return {"tool": tool, "arguments": dict(arguments)}


def bound(backend: EchoBackend | None, work: Callable[[], Any]) -> Any:
    def inside() -> Any:
        bind_environment(backend)
        return work()

    return contextvars.copy_context().run(inside)


def test_calls_reach_the_bound_backend(finish: Finish) -> None:
    """Both forms of a call carry the name and the arguments, whatever an argument is called."""
    environment = Environment()
    expected = {"tool": "save", "arguments": {"tool": "x", "self": 1}}
    assert bound(EchoBackend(), lambda: finish(environment.call("save", tool="x", self=1))) == expected
    assert bound(EchoBackend(), lambda: finish(environment.call_with("save", {"tool": "x", "self": 1}))) == expected
    assert bound(EchoBackend(), lambda: finish(environment.attempt_intended_action())).saved


def test_a_kept_proxy_is_closed_outside_its_trial(finish: Finish) -> None:
    """A proxy and a verifier that were kept from a trial do nothing where no backend is bound."""
    environment = bound(EchoBackend(), Environment)
    for request in (environment.attempt_intended_action, Verifier().snapshot, Verifier().verify):
        with pytest.raises(ToolError, match="the trial is over"):
            finish(request())
    with pytest.raises(ToolError, match="the trial is over"):
        _ = environment.verifier


def test_a_verifier_is_offered_only_where_there_is_one(finish: Finish) -> None:
    """Without a product verifier the proxy has none, and a verifier made by hand refuses."""
    assert bound(EchoBackend(), lambda: Environment().verifier) is None
    with pytest.raises(ToolError, match="has no verifier"):
        bound(EchoBackend(), lambda: finish(Verifier().verify()))
    product = ConfirmingVerifier()
    verifier = bound(EchoBackend(product), lambda: Environment().verifier)
    bound(EchoBackend(product), lambda: finish(verifier.snapshot()))
    assert product.snapshots == 1
    assert bound(EchoBackend(product), lambda: finish(verifier.verify())) is Verdict.CONFIRMED


def test_a_refusal_does_not_lead_to_the_backend(finish: Finish) -> None:
    """The error that an arm catches has no cause, no context, and no frame in which the backend stands."""
    backend = EchoBackend()
    with pytest.raises(ToolError, match="no such thing") as caught:
        bound(backend, lambda: finish(Environment().call("refused")))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    proxy_frames = [entry.frame for entry in caught.traceback if str(entry.path).endswith("arms/environment.py")]
    assert len(proxy_frames) == 2
    assert not any(held is backend for frame in proxy_frames for held in frame.f_locals.values())


def test_verifiers_are_found_by_name(finish: Finish) -> None:
    """A named verifier is its product's; a product without names has only the default one."""

    class Several(EchoBackend):
        def verifier_by_name(self, name: str) -> ConfirmingVerifier | None:
            return named if name == "deep" else None

    named, product = ConfirmingVerifier(), ConfirmingVerifier()
    found = bound(Several(product), lambda: Environment().verifier_by_name("deep"))
    bound(Several(product), lambda: finish(found.snapshot()))
    assert (named.snapshots, product.snapshots) == (1, 0)
    assert bound(Several(product), lambda: Environment().verifier_by_name("other")) is None
    assert bound(EchoBackend(product), lambda: Environment().verifier_by_name("deep")) is None
    with pytest.raises(ToolError, match="has no verifier deep"):
        bound(EchoBackend(product), lambda: finish(Verifier("deep").verify()))
