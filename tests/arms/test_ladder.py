"""The rungs of the ladder: what each arm believes, and that an error ends all of them alike."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from arms.base import ArmTask
from arms.environment import Environment, bind_environment
from arms.ladder import effect_full, effect_rest, screen
from spec.canonical import Json, JsonObject
from spec.environment import ProductVerifier, Screen, Tool
from spec.reading import Verdict

Finish = Callable[..., Any]
TASK = ArmTask("Save it.", {}, (), 0, 60.0)


class Verifier:
    def __init__(self, verdict: Verdict, asked: list[str]) -> None:
        self.verdict, self.asked = verdict, asked

    async def snapshot(self) -> None:
        self.asked.append("snapshot")

    async def verify(self) -> Verdict:
        self.asked.append("verify")
        return self.verdict


class Backend:
    """Shows one screen, and has the verifiers that it is told to have."""

    tools: Sequence[Tool] = ()
    verifier: ProductVerifier | None = None

    def __init__(self, shown: Screen, **verdicts: Verdict) -> None:
        self.shown, self.asked, self.acts = shown, [], 0
        self.verifiers = {name: Verifier(verdict, self.asked) for name, verdict in verdicts.items()}

    asked: list[str]

    def verifier_by_name(self, name: str) -> ProductVerifier | None:
        return self.verifiers.get(name)

    async def attempt_intended_action(self) -> Screen:
        self.acts += 1
        return self.shown

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        raise AssertionError("no tool is called")


def reported(finish: Finish, arm: Any, backend: Backend) -> tuple[bool, bool]:
    def inside() -> tuple[bool, bool]:
        bind_environment(backend)
        report = finish(arm(TASK, Environment()))
        return report.reported_success, report.halted

    return contextvars.copy_context().run(inside)


CONFIRMED, REFUTED = Verdict.CONFIRMED, Verdict.REFUTED
SAVED = Screen(True, "saved")


@pytest.mark.parametrize("arm", [screen, effect_rest, effect_full])
def test_an_error_halts_at_once(finish: Finish, arm: Any) -> None:
    """On a time-out or a refusal no arm acts again, believes the banner or asks for the effect."""
    backend = Backend(Screen(True, "saved", "HTTP 409"), rest=CONFIRMED, sql=CONFIRMED)
    assert reported(finish, arm, backend) == (False, True)
    assert backend.acts == 1
    assert "verify" not in backend.asked


def test_the_lowest_rung_believes_the_banner(finish: Finish) -> None:
    """``screen`` reports what the banner says, whatever a verifier would say."""
    assert reported(finish, screen, Backend(SAVED, rest=REFUTED, sql=REFUTED)) == (True, False)
    assert reported(finish, screen, Backend(Screen(False, ""))) == (False, True)


@pytest.mark.parametrize(("arm", "name", "other"), [(effect_rest, "rest", "sql"), (effect_full, "sql", "rest")])
def test_the_higher_rungs_believe_their_own_verifier(finish: Finish, arm: Any, name: str, other: str) -> None:
    """Each reports what the verifier of its name says, after a baseline, and nothing of the other one."""
    backend = Backend(SAVED, **{name: CONFIRMED, other: REFUTED})
    assert reported(finish, arm, backend) == (True, False)
    assert backend.asked == ["snapshot", "verify"]
    assert reported(finish, arm, Backend(SAVED, **{name: REFUTED, other: CONFIRMED})) == (False, True)


def test_without_a_verifier_they_act_and_halt(finish: Finish) -> None:
    """An arm that cannot look fails safe."""
    backend = Backend(SAVED)
    assert reported(finish, effect_full, backend) == (False, True)
    assert backend.acts == 1
