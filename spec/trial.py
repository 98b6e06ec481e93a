"""One trial on its way: which task, which arm, which repetition, with what payload."""

from __future__ import annotations

from typing import NamedTuple

from spec.canonical import JsonObject


class Payload(NamedTuple):
    """What makes a trial unique; a pure function of (run seed, task, trial), the same for every arm.

    Attributes:
        seed: the trial's own seed, as it stands in the row.
        params: the values that the contract's parameters take.
    """

    seed: int
    params: JsonObject


class Trial(NamedTuple):
    """One repetition of a task by an arm.

    Attributes:
        ordinal: place in plan order, from 0.
        key: ``{arm}::{task_id}::t{trial}``.
        attempt: which execution of the trial this is, from 1.
    """

    ordinal: int
    key: str
    task_id: str
    arm: str
    trial: int
    seed: int
    params: JsonObject
    attempt: int


def trial_key(arm: str, task_id: str, trial: int) -> str:
    """The text that names a trial everywhere."""
    return f"{arm}::{task_id}::t{trial}"
