"""A task of a pack with its wiring: what stands behind it, never told to an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from spec.reading import Record
from spec.task import Task
from spec.trial import Payload


class Wiring(NamedTuple):
    """What stands behind a task.

    Attributes:
        fault: name of what happens to a save.
        rows: table -> rows on record before the trial.
        extras: what the database has built in (``tables.EXTRAS``).
        intended_patient: whose chart a blind agent opens: the first of the wanted name.
        preset_type: the encounter type that a new form starts with.
        sends_key: whether the client sends the trial's idempotency key.
    """

    fault: str
    rows: Mapping[str, Sequence[Record]]
    extras: tuple[str, ...] = ()
    intended_patient: str = "p1"
    preset_type: str = "Triage"
    sends_key: bool = False


class Entry(NamedTuple):
    """A task and its wiring."""

    task: Task
    wiring: Wiring


class Pack(NamedTuple):
    """A pack.

    Attributes:
        entries: its tasks in order.
        payload: (task id, trial, run seed) -> the trial's values.
    """

    name: str
    entries: tuple[Entry, ...]
    payload: Callable[[str, int, int], Payload]
