"""Three scripted arms that differ only in how far they look after a save: the rungs of the ladder.

All three act once, and halt at once where the client itself noticed a failure (``Screen.error``), without a second
try and without asking any verifier. Then ``screen`` believes the banner; ``effect_rest`` asks the product's verifier
``rest``, which reads the encounters back over the application's own API; ``effect_full`` asks its verifier ``sql``,
which reads the database and looks at the bills too.
"""

from __future__ import annotations

from typing import Final

from arms.environment import Environment
from arms.task import ArmTask
from spec.reading import Verdict
from spec.report import AgentReport

REST: Final = "rest"
SQL: Final = "sql"

_SAVED: Final = AgentReport(reported_success=True, message="the banner says saved")
_NOT_SAVED: Final = AgentReport(reported_success=False, halted=True, message="the banner does not say saved")
_CONFIRMED: Final = AgentReport(reported_success=True, message="the read-back confirms the effect")
_NOT_CONFIRMED: Final = AgentReport(reported_success=False, halted=True, message="the read-back does not confirm it")
_NO_VERIFIER: Final = AgentReport(reported_success=False, halted=True, message="acted, and nothing can confirm it")


async def screen(task: ArmTask, environment: Environment) -> AgentReport:
    """Act once; halt on an error, else believe the banner."""
    shown = await environment.attempt_intended_action()
    if shown.error:
        return _halted(shown.error)
    return _SAVED if shown.saved else _NOT_SAVED


async def effect_rest(task: ArmTask, environment: Environment) -> AgentReport:
    """Act once; halt on an error, else report what the read-back over the API says."""
    return await _verified(environment, REST)


async def effect_full(task: ArmTask, environment: Environment) -> AgentReport:
    """Act once; halt on an error, else report what the read-back of the database says."""
    return await _verified(environment, SQL)


async def _verified(environment: Environment, name: str) -> AgentReport:
    verifier = environment.verifier_by_name(name)
    if verifier is not None:
        await verifier.snapshot()
    shown = await environment.attempt_intended_action()
    if shown.error:
        return _halted(shown.error)
    if verifier is None:
        return _NO_VERIFIER
    return _CONFIRMED if await verifier.verify() == Verdict.CONFIRMED else _NOT_CONFIRMED


def _halted(error: str) -> AgentReport:
    return AgentReport(reported_success=False, halted=True, message=f"halted: {error}")
