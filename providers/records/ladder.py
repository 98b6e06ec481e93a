"""The pack ``ladder``: ten scenarios, each one thing that can become of a save.

Which of them an arm is deceived by depends only on how far it looks after the save: at the banner, at the encounters,
or at every table that matters. Two are correct, eight are not; one of the correct ones looks like a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from providers.records import desk
from providers.records.entry import Entry, Pack, Wiring
from providers.records.payload import ladder_payload
from spec.contract import Contract, Effect, EffectKind, Param
from spec.reading import Record
from spec.task import Category, OracleSpec, Task

_TARGET: Final = {"patient_id": desk.TARGET, "type": desk.TARGET_TYPE}

CONTRACT: Final[Contract] = (
    Effect(
        EffectKind.RECORD_WRITTEN,
        match=_TARGET,
        probe="read the encounters back and count those of the target",
        timeout_s=0.0,
    ),
    Effect(
        EffectKind.FIELD_EQUALS,
        match=_TARGET,
        field="note",
        value=Param("note"),
        probe="read the note of the target's encounter back",
        timeout_s=0.0,
    ),
)


class _Scenario(NamedTuple):
    name: str
    title: str
    category: Category
    fault: str
    available: bool = False
    concurrent: bool = False


_SCENARIOS: Final = (
    _Scenario("ok", "A save that works", Category.CONTROL, "none", available=True),
    _Scenario("no_persist", "Nothing lands", Category.C3_OPTIMISTIC_THEN_REJECT, "not_persisted"),
    _Scenario("partial", "The note is dropped", Category.C1_PARTIAL_SAVE, "note_dropped"),
    _Scenario("duplicate", "Two rows land", Category.C2_DUPLICATE_SUBMISSION, "accepted_twice"),
    _Scenario("wrong_record", "The row lands on another patient", Category.C6_WRONG_RECORD_HOMONYM, "charts_confused"),
    _Scenario("stale", "Another user's row is lost", Category.C4_STALE_OVERWRITE, "last_write_wins", concurrent=True),
    _Scenario("collateral_unaudited", "A bill is written besides", Category.C7_SILENT_NOOP_WRONG_TARGET, "bill_added"),
    _Scenario("optimistic", "Rejected after the paint", Category.C3_OPTIMISTIC_THEN_REJECT, "rejected_after_the_paint"),
    _Scenario("session", "The session has expired", Category.C3_OPTIMISTIC_THEN_REJECT, "session_expired"),
    _Scenario(
        "timeout",
        "The save commits and the client times out",
        Category.C3_OPTIMISTIC_THEN_REJECT,
        "committed_then_hung",
        available=True,
    ),
)


def ladder(channel: str) -> Pack:
    """The pack, its record read by a channel of that name."""
    return Pack("ladder", tuple(_entry(scenario, channel) for scenario in _SCENARIOS), ladder_payload)


def _entry(scenario: _Scenario, channel: str) -> Entry:
    rows: dict[str, Sequence[Record]] = {"patients": desk.LADDER_PATIENTS}
    if scenario.concurrent:
        rows["encounters"] = (desk.CONSULT,)
    task = Task(
        task_id=f"ladder::{scenario.name}",
        title=scenario.title,
        goal=desk.LADDER_GOAL,
        category=scenario.category,
        contract=CONTRACT,
        oracle=OracleSpec(channel=channel, trial_unique_payload=True),
        correct_action_available=scenario.available,
        initial_state=rows,
    )
    return Entry(task, Wiring(scenario.fault, rows))
