"""A finished run of the anchor pack, made from its published table of faults: no engine, no fixture, no oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import orjson
import pytest

from oracle.base import Judgement
from orchestrator.journal import Journal, LineType
from orchestrator.kinds.base import Counts, Execution
from orchestrator.kinds.effect.driver import EffectDriver
from orchestrator.kinds.effect.worker import EffectWorker
from orchestrator.plan import Plan
from providers.base import Provider
from spec.contract import Effect, EffectKind, contract_hash
from spec.outcome import classify
from spec.reading import RecordSchema, TrueState
from spec.task import Category, OracleSpec, Task
from spec.trial import Trial

RIGHT, WRONG, NOTHING = TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT


class Scenario(NamedTuple):
    """One task of the anchor: what its screen says and what its record holds after a save."""

    name: str
    category: Category
    banner: bool
    state: TrueState


SCENARIOS: Final = (
    Scenario("ok", Category.CONTROL, True, RIGHT),
    Scenario("partial", Category.C1_PARTIAL_SAVE, True, WRONG),
    Scenario("duplicate", Category.C2_DUPLICATE_SUBMISSION, True, WRONG),
    Scenario("timeout", Category.C3_OPTIMISTIC_THEN_REJECT, False, RIGHT),
    Scenario("optimistic", Category.C3_OPTIMISTIC_THEN_REJECT, True, NOTHING),
    Scenario("session", Category.C3_OPTIMISTIC_THEN_REJECT, False, NOTHING),
    Scenario("stale", Category.C4_STALE_OVERWRITE, True, WRONG),
    Scenario("double", Category.C5_DOUBLE_DELIVERED_INPUT, True, WRONG),
    Scenario("idempotent", Category.CONTROL, True, RIGHT),
)

EFFECT: Final = Effect(EffectKind.RECORD_WRITTEN, {"patient_id": "p1", "type": "Triage"})


def _task(scenario: Scenario) -> Task:
    return Task(
        task_id=f"mockmed::{scenario.name}",
        title=scenario.name,
        goal="Save a triage encounter.",
        category=scenario.category,
        contract=(EFFECT,),
        oracle=OracleSpec("snapshot"),
        correct_action_available=scenario.state is RIGHT,
    )


@dataclass(frozen=True)
class _Provider:
    schema: RecordSchema


def _claims(scenario: Scenario, arm: str) -> tuple[bool, TrueState]:
    """What an arm reports of a scenario, and what it leaves behind."""
    if arm == "always_halt":
        return False, NOTHING
    return (scenario.banner if arm == "screen_only" else scenario.state is RIGHT), scenario.state


class FinishedRun:
    """A run of the anchor whose trials all have the ending that the table gives them.

    Attributes:
        driver: kind effect's driver side over the nine tasks.
        plan: nine tasks, the arms, ten trials unless told otherwise.
        unscored: ordinal -> how it ended instead of being scored; "owed" has no line at all.
    """

    def __init__(self, arms: Sequence[str], trials: int, unscored: dict[int, str]) -> None:
        self.tasks = tuple(_task(scenario) for scenario in SCENARIOS)
        self.driver = EffectDriver(cast(Provider, _Provider(RecordSchema("encounters"))), self.tasks)
        self.plan = Plan([task.task_id for task in self.tasks], arms, trials)
        self.unscored = unscored

    def row(self, ordinal: int, *, message: str = "", reason: str = "read") -> dict[str, Any]:
        """The row of a trial."""
        cell = self.plan.cell(ordinal)
        task, scenario = self.tasks[cell.task], SCENARIOS[cell.task]
        arm, key = self.plan.arms[cell.arm], self.plan.key(ordinal)
        reported, state = _claims(scenario, arm)
        label = classify(reported_success=reported, state=state, correct_action_available=task.correct_action_available)
        assert label is not None
        body = {
            "state": state.value,
            "verdict": "confirmed" if state is RIGHT else "refuted",
            "kind": "record_written",
            "channel": "snapshot",
            "observed_count": 0 if state is NOTHING else 1,
            "expected_count": 1,
            "before_reachable": True,
            "expected_effect_hash": contract_hash(EFFECT),
            "outcome": label.outcome.value,
            "variant": label.variant.value,
        }
        report = EffectWorker().parse({"reported_success": reported, "halted": not reported, "message": message})
        trial = Trial(ordinal, key, task.task_id, arm, cell.trial, cell.trial, {}, 1)
        judgement = Judgement(True, state is RIGHT, reason, body)
        execution = Execution(
            1, "in-process", None, "", "2026-01-31T12:00:00.000000Z", "2026-01-31T12:00:00.250000Z", 0.25, 1
        )
        return self.driver.row(trial, report, judgement, execution)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of all scored trials, in plan order."""
        return (self.row(ordinal) for ordinal in range(len(self.plan)) if ordinal not in self.unscored)

    def body(self, ordinal: int) -> tuple[LineType, dict[str, Any]] | None:
        """Type and body of a trial's terminal line, or None while it is owed."""
        ended = self.unscored.get(ordinal, "scored")
        if ended == "owed":
            return None
        if ended == "scored":
            return LineType.SCORED, {"attempt": 1, "row": self.row(ordinal)}
        cause = "unreadable" if ended == "unreadable" else "provider"
        return LineType(ended), {"attempt": 3, "cause": cause, "detail": "it stayed so"}

    def terminal(self, ordinal: int) -> bytes | None:
        """A trial's terminal line, unframed."""
        ended = self.body(ordinal)
        if ended is None:
            return None
        return orjson.dumps({"type": ended[0], "key": self.plan.key(ordinal), **ended[1]})

    def counts(self) -> dict[str, Counts]:
        """How the trials of each arm ended."""
        planned = len(self.plan.task_ids) * self.plan.trials
        result = {}
        for place, arm in enumerate(self.plan.arms):
            ends = [self.unscored.get(ordinal, "scored") for ordinal in self.plan.of_arm(place)]
            result[arm] = Counts(
                planned=planned,
                scored=ends.count("scored"),
                unreadable=ends.count("unreadable"),
                infrastructure=ends.count("infrastructure"),
                cancelled=ends.count("cancelled"),
                owed=ends.count("owed"),
                unreadable_attempts=ends.count("unreadable"),
            )
        return result

    def write_episodes(self, path: Path) -> Path:
        """Write the rows' file."""
        path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in self.rows()))
        return path

    async def write_journal(self, path: Path) -> Path:
        """Write a real journal with every terminal line."""
        journal = Journal.create(path, {"run_id": "anchor", "format": 1}, clock=_StillClock())
        for ordinal in range(len(self.plan)):
            ended = self.body(ordinal)
            if ended is not None:
                journal.append(ended[0], self.plan.key(ordinal), ended[1])
        await journal.commit()
        await journal.finish({"exit": 0, "conservation": {}})
        journal.close()
        return path

    def summary(self, folder: Path, seed: int = 0) -> dict[str, Any]:
        """``arms`` and ``comparisons`` as the kind gives them."""
        arms, comparisons = self.driver.summarise(self.write_episodes(folder / "rows.jsonl"), self.counts(), seed)
        return {"arms": arms, "comparisons": comparisons}


class _StillClock:
    """A clock that always shows the same moment."""

    def monotonic(self) -> float:
        return 0.0

    def utc_now(self) -> str:
        return "2026-01-31T12:00:00.000000Z"

    async def sleep(self, seconds: float) -> None:
        """Not needed here; waiting would be a mistake."""
        raise AssertionError(f"nothing waits {seconds} s here")


MakeRun = Callable[..., FinishedRun]


@pytest.fixture(scope="session")
def make_run() -> MakeRun:
    """Makes a finished run: arms, number of trials, and which ordinals were not scored."""

    def make(
        arms: Sequence[str] = ("screen_only", "effect_verified"),
        trials: int = 10,
        unscored: dict[int, str] | None = None,
    ) -> FinishedRun:
        return FinishedRun(arms, trials, unscored or {})

    return make


@pytest.fixture(scope="session")
def anchor(make_run: MakeRun) -> FinishedRun:
    """The published run: two arms, ten trials of nine tasks, everything scored."""
    return make_run()
