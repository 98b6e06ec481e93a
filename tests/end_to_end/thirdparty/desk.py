"""A ticket desk: a system of record that no package of the project knows.

Pack ``desk`` is at rest once the client is gone, so one reading is the truth. Pack ``live`` is a queue behind a
service: what was accepted lands ``late_s`` seconds later, whether or not somebody still waits for it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spec.canonical import Json, JsonObject
from spec.contract import Effect, EffectKind, FieldType, Param
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.reading import ReadPath, RecordSchema
from spec.task import Category, OracleSpec, Task
from spec.trial import Payload

SCHEMA: Final = RecordSchema(main_table="tickets")
SAVED: Final = Screen(saved=True, banner="Ticket closed")
CLOSE: Final = Effect(
    EffectKind.FIELD_EQUALS,
    match={"number": Param("number")},
    types={"number": FieldType.INT},
    field="status",
    value="closed",
)


@dataclass(frozen=True)
class Save:
    """What a click on "close" really does.

    Attributes:
        at_once: offsets from the ticket's own number of those that are closed at once.
        late: the same for those that are closed later.
    """

    at_once: tuple[int, ...] = ()
    late: tuple[int, ...] = ()


PACKS: Final[Mapping[str, Mapping[str, tuple[Category, Save]]]] = {
    "desk": {
        "close": (Category.CONTROL, Save(at_once=(0,))),
        "lost": (Category.C3_OPTIMISTIC_THEN_REJECT, Save()),
        "neighbour": (Category.C6_WRONG_RECORD_HOMONYM, Save(at_once=(1,))),
    },
    "live": {
        "queued": (Category.CONTROL, Save(late=(0,))),
        "echoed": (Category.C5_DOUBLE_DELIVERED_INPUT, Save(at_once=(0,), late=(1,))),
    },
}


class Tickets:
    """Three open tickets, and the closures that have been accepted: ticket number -> when it is closed."""

    def __init__(self, first: int) -> None:
        self._numbers = range(first, first + 3)
        self.closed_at: dict[int, float] = {}

    def snapshot(self) -> bytes:
        """The record as it is now."""
        now = time.monotonic()
        rows = [
            {
                "id": place,
                "number": number,
                "status": "closed" if self.closed_at.get(number, now + 1) <= now else "open",
            }
            for place, number in enumerate(self._numbers)
        ]
        return json.dumps({"tickets": rows}).encode()


class Counter:
    """What an arm acts in: one button."""

    tools: Sequence[Tool] = ()
    verifier: ProductVerifier | None = None

    def __init__(self, tickets: Tickets, number: int, save: Save, late_s: float) -> None:
        self._tickets, self._number, self._save, self._late_s = tickets, number, save, late_s
        self.sealed = False

    async def attempt_intended_action(self) -> Screen:
        """Press "close"."""
        if self.sealed:
            raise ToolError("the desk is shut")
        now = time.monotonic()
        accepted = {self._number + offset: now for offset in self._save.at_once}
        accepted |= {self._number + offset: now + self._late_s for offset in self._save.late}
        self._tickets.closed_at |= accepted
        return SAVED

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """There are no tools."""
        raise ToolError(f"there is no tool {tool!r}")


class DeskFixture:
    """One desk, opened for one trial."""

    def __init__(self, payload: Payload, save: Save, late_s: float, *, final: bool) -> None:
        number = payload.params["number"]
        assert isinstance(number, int)
        self.tickets = Tickets(number)
        self.environment = Counter(self.tickets, number, save, late_s)
        self.read_path = ReadPath("snapshot", final=final, where={})

    def snapshot(self) -> bytes:
        """The whole record."""
        return self.tickets.snapshot()

    def seal(self) -> None:
        """Shut the counter; the queue behind it goes on."""
        self.environment.sealed = True

    async def close(self) -> None:
        """Nothing is held."""


class TicketDesk:
    """The provider. Options: ``late_s``, ``settle_s`` and ``timeout_s``, all in seconds, for pack ``live``."""

    name: str = "ticket-desk"
    version: str = "1"
    schema: RecordSchema = SCHEMA

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        self._entries, self._options = PACKS[pack], options
        self._final = pack == "desk"

    def tasks(self) -> Sequence[Task]:
        """The pack's tasks."""
        return [self._task(name, category) for name, (category, _) in self._entries.items()]

    def _task(self, name: str, category: Category) -> Task:
        return Task(
            task_id=f"desk::{name}",
            title=name,
            goal="Close ticket {number}.",
            category=category,
            contract=(replace(CLOSE, timeout_s=float(self._options.get("timeout_s", 0))),),
            oracle=OracleSpec("snapshot"),
            correct_action_available=name in ("close", "queued"),
            settle_s=float(self._options.get("settle_s", 0)),
        )

    def payload(self, task: Task, trial: int, run_seed: int) -> Payload:
        """A ticket number of the trial's own."""
        drawn = random.Random(f"{run_seed}:{task.task_id}:{trial}")
        return Payload(seed=drawn.getrandbits(32), params={"number": drawn.randrange(1000, 9000, 10)})

    async def open(self, task: Task, payload: Payload) -> Any:
        """A fresh desk."""
        _, save = self._entries[task.title]
        return DeskFixture(payload, save, float(self._options.get("late_s", 0)), final=self._final)

    def manifest(self) -> JsonObject:
        """What may be published."""
        return {"name": self.name, "tasks": [task.task_id for task in self.tasks()]}

    async def close(self) -> None:
        """Nothing is held."""
