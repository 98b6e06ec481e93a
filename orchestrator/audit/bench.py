"""Carries attacks out, each on a fixture of its own, in a run's order: baseline, attack, seal, reading, verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Final, NamedTuple

import anyio

from oracle.base import ReadFailed
from orchestrator.audit.asking import Answer, AskedOracle
from orchestrator.audit.effects import fullest
from orchestrator.audit.scene import Attack, AttackName, Inapplicable, Insert, Scene, Step, Update
from orchestrator.audit.verdicts import Result, Verdict
from orchestrator.engine.fixtures import FixtureShelf
from providers.base import BackDoor, Fixture, Provider
from spec.canonical import JsonObject
from spec.clock import Clock
from spec.contract import resolve
from spec.errors import InputError, ProviderFault, let_interruptions_through
from spec.messages import Judged, ReadAfter, ReadBefore, Ready, Unread
from spec.reading import ReadPath, Record, TrueState
from spec.task import Task
from spec.text import clean, describe
from spec.trial import Payload

_CLAIM: Final[JsonObject] = {"reported_success": True, "halted": False, "message": "done", "model_calls": []}
_ARM: Final = "red_team"


class Limits(NamedTuple):
    """Bounds of a fixture, in seconds."""

    open_s: float
    close_s: float


class _Open(NamedTuple):
    """A fixture that stands open.

    Attributes:
        ordinal: the number of its trial, never used twice.
        path: where the oracle reads it.
    """

    ordinal: int
    fixture: Fixture
    path: ReadPath
    back_door: BackDoor


class Refused(Exception):
    """Raised where the record system refuses a write of an attack."""


class Bench:
    """Opens fixtures and attacks them.

    Args:
        provider: the system of record.
        oracle: who judges.
        shelf: where the oracle finds fixtures that are in memory.
        limits: how long a fixture may take.
        clock: where time comes from.
    """

    def __init__(
        self, provider: Provider, oracle: AskedOracle, shelf: FixtureShelf, limits: Limits, clock: Clock
    ) -> None:
        self._provider, self._oracle, self._shelf = provider, oracle, shelf
        self._limits, self._clock = limits, clock
        self._ordinals = count()

    async def survey(self, task: Task, payload: Payload, other: Payload) -> Scene:
        """Look at a fresh fixture, so that attacks can be derived.

        Raises:
            InputError: the provider's fixtures have no back door.
            ProviderFault: the fixture or its record cannot be had.
        """
        async with self._opened(task, payload) as opened:
            standing = await self._look(opened)
            tables = list(await opened.back_door.tables())
            for table in tables:
                if not standing.get(table):
                    await _try_to_insert(opened.back_door, table)
            after = await self._look(opened)
            return Scene(
                contract=resolve(task.contract, payload.params),
                other=resolve(task.contract, other.params),
                schema=self._provider.schema,
                standing=standing,
                sample={table: row for table, rows in after.items() if (row := fullest(rows)) is not None},
                tables=tables,
                final=opened.path.final,
                settle_s=task.settle_s,
            )

    async def carry_out(self, task: Task, payload: Payload, attack: Attack | Inapplicable) -> Verdict:
        """What comes of one attack; never raises for what a provider does."""
        if isinstance(attack, Inapplicable):
            return Verdict(attack.name, attack.target, Result.NOT_APPLICABLE, attack.reason)
        try:
            answer = await self._attacked(task, payload, attack)
        except Refused as refusal:
            return Verdict(attack.name, attack.target, Result.REFUSED, clean(str(refusal)))
        except Exception as error:  # noqa: BLE001 - a provider may raise anything; the attack was not judged
            return Verdict(attack.name, attack.target, Result.FAILED, describe(error))
        return _verdict(attack, answer)

    async def reach(self, task: Task, payload: Payload) -> Verdict:
        """What comes of the fixture's own probe: whether its environment leads to the oracle's path."""
        try:
            async with self._opened(task, payload) as opened:
                with anyio.fail_after(self._limits.open_s):
                    found = list(await opened.back_door.reach())
        except Exception as error:  # noqa: BLE001 - a provider may raise anything; the probe was not made
            return Verdict(AttackName.REACH, "", Result.FAILED, describe(error))
        result = Result.GOT_THROUGH if found else Result.CAUGHT
        return Verdict(AttackName.REACH, "", result, clean("; ".join(map(str, found))))

    async def _attacked(self, task: Task, payload: Payload, attack: Attack) -> Answer:
        async with self._opened(task, payload) as opened:
            await self._write(opened, attack.before)
            before = ReadBefore(opened.ordinal, 1, _ARM, task.task_id, payload.params, opened.path)
            ready = await self._oracle.before(before)
            if not isinstance(ready, Ready):
                return ready
            await self._write(opened, attack.during)
            opened.fixture.seal()
            return await self._judged(opened, attack, task.settle_s)

    async def _judged(self, opened: _Open, attack: Attack, settle_s: float) -> Answer:
        """The oracle's answer; what is late lands in the middle of the time in which the record settles."""
        answers: list[Answer] = []

        async def ask() -> None:
            answers.append(await self._oracle.after(ReadAfter(opened.ordinal, 1, _CLAIM)))

        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            if attack.late:
                await self._clock.sleep(settle_s / 2)
                try:
                    await self._write(opened, attack.late)
                except Exception as error:  # noqa: BLE001 - raised below, as it is and in no group
                    failure = error
                    tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return answers[0]

    async def _write(self, opened: _Open, steps: Sequence[Step]) -> None:
        with anyio.fail_after(self._limits.open_s):
            for step in steps:
                await _carry_out(opened.back_door, step)

    async def _look(self, opened: _Open) -> dict[str, Sequence[Record]]:
        reading = await self._oracle.look(opened.path)
        if isinstance(reading, ReadFailed):
            raise ProviderFault(f"the record cannot be read: {reading.reason}")
        return dict(reading)

    @asynccontextmanager
    async def _opened(self, task: Task, payload: Payload) -> AsyncIterator[_Open]:
        with anyio.fail_after(self._limits.open_s):
            fixture = await self._provider.open(task, payload)
        ordinal = next(self._ordinals)
        place = None
        try:
            place, path = self._shelf.put(fixture)
            yield _Open(ordinal, fixture, path, _back_door(fixture))
        finally:
            self._oracle.forget(ordinal)
            if place is not None:
                self._shelf.drop(place)
            with anyio.move_on_after(self._limits.close_s, shield=True):
                await fixture.close()


def _back_door(fixture: Fixture) -> BackDoor:
    found: Any = getattr(fixture, "back_door", None)
    if found is None:
        raise InputError(
            f"a {type(fixture).__name__} has no back_door, so nobody can attack its record and its oracle cannot be "
            "audited; see providers.base.BackDoor"
        )
    door: BackDoor = found
    return door


async def _try_to_insert(back_door: BackDoor, table: str) -> None:
    """Let a table have a row, so that its columns can be seen; one that refuses has none to show."""
    try:
        await back_door.insert(table, {})
    except Exception as error:  # noqa: BLE001 - a provider may refuse in any way
        let_interruptions_through(error)


async def _carry_out(back_door: BackDoor, step: Step) -> None:
    """One write.

    Raises:
        Refused: the record system refuses it.
        ProviderFault: there was nothing to write to.
    """
    try:
        if isinstance(step, Insert):
            await back_door.insert(step.table, step.record)
            return
        if isinstance(step, Update):
            found = await back_door.update(step.table, step.match, step.fields)
        else:
            found = await back_door.delete(step.table, step.match)
    except ProviderFault as error:
        raise Refused(str(error)) from error
    if not found:
        raise ProviderFault(f"the back door found no record of {step.table} to write to")


def _verdict(attack: Attack, answer: Answer) -> Verdict:
    if isinstance(answer, Unread) or not isinstance(answer, Judged):
        reason = answer.reason if isinstance(answer, Unread) else "the oracle gave no judgement"
        return Verdict(attack.name, attack.target, Result.UNREADABLE, reason)
    correct = answer.body.get("state") == TrueState.CORRECT.value
    if attack.name is AttackName.POSITIVE_CONTROL:
        result = Result.CONFIRMED if correct else Result.NOT_CONFIRMED
    else:
        result = Result.GOT_THROUGH if correct else Result.CAUGHT
    return Verdict(attack.name, attack.target, result, answer.reason)
