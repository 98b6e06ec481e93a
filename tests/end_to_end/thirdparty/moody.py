"""A ticket desk with moods: each breaks one promise of the provider seam, in a way that can be foreseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from spec.canonical import JsonObject
from spec.task import Task
from spec.trial import Payload

if TYPE_CHECKING:
    from tests.end_to_end.thirdparty.desk import DeskFixture, TicketDesk
else:
    from desk import DeskFixture, TicketDesk

SOME: Final = 3
"""Every third seed meets the mood, where a mood is not for all."""


class HalfFixture:
    """No fixture at all: two parts are missing and one is of the wrong type."""

    read_path = "/somewhere"

    async def close(self) -> None:
        """Nothing is held."""


class Shy(DeskFixture):
    """Cannot be read the first few times."""

    refusals: int = 0

    def snapshot(self) -> bytes:
        """The record, once the refusals are used up."""
        if self.refusals:
            self.refusals -= 1
            raise OSError("the record is being backed up")
        return super().snapshot()


class Sticky(DeskFixture):
    """Works, and does not close."""

    async def close(self) -> None:
        """Refuse."""
        raise OSError("the desk is stuck")


class Unsealable(DeskFixture):
    """Cannot be sealed, so nobody knows what came after."""

    def seal(self) -> None:
        """Refuse."""
        raise OSError("the key is lost")


class MoodyDesk(TicketDesk):
    """Options: ``mood``, and ``refusals`` for the moods of reading."""

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        super().__init__(pack, split, options)
        self._mood = options["mood"]
        self._opened: Counter[int] = Counter()

    def payload(self, task: Task, trial: int, run_seed: int) -> Any:
        """A payload, or what the mood makes of it."""
        payload = super().payload(task, trial, run_seed)
        if self._mood == "no payload for trial 1" and trial == 1:
            raise LookupError("trial 1 was never written down")
        if self._mood == "strange payload for trial 1" and trial == 1:
            return Payload(seed="1", params={"number": object()})  # type: ignore[arg-type, dict-item]  # what it tests
        return payload

    def manifest(self) -> JsonObject:
        """A manifest, or what the mood makes of it."""
        return {"tasks": object()} if self._mood == "strange manifest" else super().manifest()  # type: ignore[dict-item]  # what it tests

    async def open(self, task: Task, payload: Payload) -> Any:
        """A fixture, or what the mood makes of it."""
        self._opened[payload.seed] += 1
        first, some = self._opened[payload.seed] == 1, payload.seed % SOME == 0
        if self._mood == "never opens" or (self._mood == "opens later" and first and some):
            raise ConnectionError("the desk has not opened yet")
        if self._mood == "no fixture":
            return HalfFixture()
        kinds = {"shy": Shy, "shy at first": Shy, "sticky": Sticky, "unsealable": Unsealable}
        fixture = kinds.get(self._mood, DeskFixture)(payload, self._entries[task.title][1], 0.0, final=True)
        if isinstance(fixture, Shy) and (self._mood == "shy" or first):
            fixture.refusals = int(self._options["refusals"])
        return fixture


class SchemalessDesk(TicketDesk):
    """A provider without a part that kind effect needs."""

    schema = property()


class TasklessDesk(TicketDesk):
    """A provider whose tasks are no tasks."""

    def tasks(self) -> Any:
        """Two that are no tasks, and one that is."""
        return [_Named("one"), _Named("two"), *super().tasks()]


class _Named:
    def __init__(self, task_id: str) -> None:
        self.task_id = task_id


class NoProvider:
    """Is made like a provider and is none."""

    name = "nobody"

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        self.pack = pack
