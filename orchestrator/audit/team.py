"""The whole audit of a configuration: every attack on every task, a bounded number of fixtures at once, without Ray."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

import anyio

from orchestrator.audit.asking import AskedOracle
from orchestrator.audit.attacks import derive
from orchestrator.audit.bench import Bench, Limits
from orchestrator.audit.scene import Attack, AttackName, Inapplicable
from orchestrator.audit.verdicts import Result, TaskAudit, Verdict
from orchestrator.credentials import NOTHING_TAKEN, Taken, taken_credentials
from orchestrator.engine.backends import oracle_setup
from orchestrator.engine.fixtures import FixtureShelf
from orchestrator.preparation import Prepared
from spec.clock import Clock, SystemClock
from spec.errors import InputError
from spec.groups import leaves
from spec.task import Task
from spec.text import describe
from spec.trial import Payload

FIXTURES_MAX: Final = 8
"""Fixtures that are open at once."""

_WORKER: Final = "red-team"
_TRIAL: Final = 0
_OTHER_TRIAL: Final = 1


def red_team(prepared: Prepared) -> list[TaskAudit]:
    """Attack every chosen task of a configuration, in this process.

    Raises:
        InputError: the kind has no contracts, or a fixture has no back door.
    """
    try:
        with taken_credentials(prepared.loaded, prepared.provider, os.environ, here=True) as credentials:
            return anyio.run(audit_tasks, prepared, SystemClock(), credentials)
    except BaseExceptionGroup as group:
        raise leaves(group)[0] from group


async def audit_tasks(prepared: Prepared, clock: Clock, credentials: Taken = NOTHING_TAKEN) -> list[TaskAudit]:
    """Attack every chosen task of a configuration.

    Args:
        prepared: the configuration; its arms play no part.
        clock: where time comes from.
        credentials: what the oracle reads the record with.

    Raises:
        InputError: the kind has no contracts, or a fixture has no back door.
    """
    tasks = [task for task in prepared.tasks if isinstance(task, Task)]
    if len(tasks) < len(prepared.tasks) or not tasks:
        raise InputError(f"tasks of kind {prepared.kind.name} have no contract that an oracle could be audited by")
    shelf = FixtureShelf(_WORKER)
    oracle = AskedOracle(oracle_setup(prepared, credentials), shelf, clock)
    limits = prepared.config.limits
    bench = Bench(prepared.provider, oracle, shelf, Limits(limits.open_s, limits.close_s), clock)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(oracle.serve)
            found = await _attack_all(bench, prepared, tasks)
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(limits.close_s, shield=True):
            await prepared.provider.close()
    return found


async def _attack_all(bench: Bench, prepared: Prepared, tasks: Sequence[Task]) -> list[TaskAudit]:
    room = anyio.CapacityLimiter(FIXTURES_MAX)
    found: dict[str, TaskAudit] = {}

    async def attack(place: int, task: Task) -> None:
        found[task.task_id] = await _attack_task(bench, prepared, place, task, room)

    async with anyio.create_task_group() as group:
        for place, task in enumerate(tasks):
            group.start_soon(attack, place, task)
    return [found[task.task_id] for task in tasks]


async def _attack_task(
    bench: Bench, prepared: Prepared, place: int, task: Task, room: anyio.CapacityLimiter
) -> TaskAudit:
    try:
        payload, other = prepared.payload(place, _TRIAL), prepared.payload(place, _OTHER_TRIAL)
        async with room:
            scene = await bench.survey(task, payload, other)
        attacks = derive(scene)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - a provider may raise anything; nothing was audited then
        reason = describe(error, "nothing could be tried")
        return TaskAudit(task.task_id, [Verdict(AttackName.POSITIVE_CONTROL, "", Result.FAILED, reason)])
    verdicts = await _carry_out_all(bench, task, payload, attacks, room)
    return TaskAudit(task.task_id, verdicts)


async def _carry_out_all(
    bench: Bench,
    task: Task,
    payload: Payload,
    attacks: Sequence[Attack | Inapplicable],
    room: anyio.CapacityLimiter,
) -> list[Verdict]:
    verdicts: dict[int, Verdict] = {}

    async def one(place: int, attack: Attack | Inapplicable) -> None:
        async with room:
            verdicts[place] = await bench.carry_out(task, payload, attack)

    async def probe() -> None:
        async with room:
            verdicts[len(attacks)] = await bench.reach(task, payload)

    async with anyio.create_task_group() as group:
        for place, attack in enumerate(attacks):
            group.start_soon(one, place, attack)
        group.start_soon(probe)
    return [verdicts[place] for place in sorted(verdicts)]
