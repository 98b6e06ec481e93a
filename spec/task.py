"""A task of kind effect: what is asked, with the contract that says when it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from spec.canonical import Json, content_digest
from spec.contract import Contract, effect_json
from spec.reading import Record


class Substrate(StrEnum):
    """What the agent acts on."""

    WEB = "web"
    DESKTOP = "desktop"
    REMOTE_DISPLAY = "remote_display"


class Category(StrEnum):
    """The mechanism by which a green screen hides a wrong record; control is no fault."""

    C1_PARTIAL_SAVE = "C1_partial_save"
    C2_DUPLICATE_SUBMISSION = "C2_duplicate_submission"
    C3_OPTIMISTIC_THEN_REJECT = "C3_optimistic_then_reject"
    C4_STALE_OVERWRITE = "C4_stale_overwrite"
    C5_DOUBLE_DELIVERED_INPUT = "C5_double_delivered_input"
    C6_WRONG_RECORD_HOMONYM = "C6_wrong_record_homonym"
    C7_SILENT_NOOP_WRONG_TARGET = "C7_silent_noop_wrong_target"
    CONTROL = "control"


class Split(StrEnum):
    """Which part of a pack a task belongs to; the test split is withheld from public manifests."""

    DEV = "dev"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class OracleSpec:
    """How the record of a task is read, and what is attested about that path (SPEC.md section 6).

    Attributes:
        channel: the channel that reads the record.
        isolated_from_agent: the read path is out of the arm's reach.
        trial_unique_payload: each trial writes a value of its own.
        refusal_controls: a decoy stands beside the target, so that blind writing is seen.
        adversarially_audited: a red team failed to satisfy the oracle without the effect.
    """

    channel: str
    isolated_from_agent: bool = False
    trial_unique_payload: bool = False
    refusal_controls: bool = False
    adversarially_audited: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One task, authored once, the same for every arm.

    Attributes:
        task_id: unique within the pack; never shown to an arm, since it can name the fault.
        goal: the intent in plain words, with ``{param}`` places; never a list of steps.
        contract: the effects that must hold, the first one being the main effect.
        correct_action_available: whether acting could be right; False where halting is.
        initial_state: table -> rows that stand in the record before the trial.
        settle_s: seconds to wait on a live record before it is read a last time.
    """

    task_id: str
    title: str
    goal: str
    category: Category
    contract: Contract
    oracle: OracleSpec
    correct_action_available: bool
    substrate: Substrate = Substrate.WEB
    initial_state: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    reversible: bool = False
    effect_declared: bool = True
    split: Split = Split.DEV
    settle_s: float = 0.0


def task_json(task: Task) -> dict[str, Json]:
    """A task as plain JSON, complete: equal tasks, equal JSON."""
    return {
        "task_id": task.task_id,
        "title": task.title,
        "goal": task.goal,
        "category": task.category,
        "substrate": task.substrate,
        "contract": [effect_json(effect) for effect in task.contract],
        "oracle": {name: getattr(task.oracle, name) for name in OracleSpec.__slots__},
        "correct_action_available": task.correct_action_available,
        "initial_state": {table: list(rows) for table, rows in task.initial_state.items()},
        "reversible": task.reversible,
        "effect_declared": task.effect_declared,
        "split": task.split,
        "settle_s": task.settle_s,
    }


def task_digest(task: Task) -> str:
    """The content digest of a task, its contract included."""
    return content_digest(task_json(task))
