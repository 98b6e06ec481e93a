"""The four scripted arms that every agent is compared with.

They choose nothing: they carry out the intended action and differ only in what they believe afterwards. Their
figures on the shipped packs are known exactly, so a run of them is also a test of the instrument.
"""

from __future__ import annotations

from typing import Final

from arms.environment import Environment
from arms.task import ArmTask
from spec.environment import Screen
from spec.reading import Verdict
from spec.report import AgentReport

_SCREEN_SAVED: Final = AgentReport(reported_success=True, message="the banner says saved")
_SCREEN_NOT_SAVED: Final = AgentReport(reported_success=False, halted=True, message="the banner says not saved")
_NEVER_ACTS: Final = AgentReport(reported_success=False, halted=True, message="halted before acting")
_NO_VERIFIER: Final = AgentReport(reported_success=False, halted=True, message="acted, and nothing can confirm it")
_CONFIRMED: Final = AgentReport(reported_success=True, message="the verifier confirms the effect")
_NOT_CONFIRMED: Final = AgentReport(reported_success=False, halted=True, message="the verifier does not confirm it")


async def screen_only(task: ArmTask, environment: Environment) -> AgentReport:
    """Act once and believe the banner."""
    return _believe(await environment.attempt_intended_action())


async def effect_verified(task: ArmTask, environment: Environment) -> AgentReport:
    """Act once and report success only if the product's own verifier confirms the effect.

    Where the environment gives no verifier it acts and halts: it fails safe.
    """
    verifier = environment.verifier
    if verifier is None:
        await environment.attempt_intended_action()
        return _NO_VERIFIER
    await verifier.snapshot()
    await environment.attempt_intended_action()
    return _CONFIRMED if await verifier.verify() == Verdict.CONFIRMED else _NOT_CONFIRMED


async def always_halt(task: ArmTask, environment: Environment) -> AgentReport:
    """Never act: no silent wrong effect at all, and an over-halt wherever acting was right."""
    return _NEVER_ACTS


async def retry_on_error(task: ArmTask, environment: Environment) -> AgentReport:
    """Act, act once more after an error banner, and believe the last banner."""
    screen = await environment.attempt_intended_action()
    if not screen.saved:
        screen = await environment.attempt_intended_action()
    return _believe(screen)


def _believe(screen: Screen) -> AgentReport:
    return _SCREEN_SAVED if screen.saved else _SCREEN_NOT_SAVED
