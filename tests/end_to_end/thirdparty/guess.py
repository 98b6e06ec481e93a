"""A kind of measurement of its own: an arm guesses a number that only the record and the oracle know.

Everything that a kind, a provider and an arm need stands here, so that it shows how little that is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from arms.base import ArmTask
from arms.environment import Environment
from oracle.base import Judgement, Patience, ReadFailed, Subject
from orchestrator.kinds.base import Counts, Execution, Kind, Section
from spec.canonical import Json, JsonObject, content_digest
from spec.environment import ProductVerifier, Screen, Tool, ToolError
from spec.reading import ReadPath, Tables
from spec.report import ArmFault, MalformedReport
from spec.trial import Payload, Trial

GUESS: Final = Kind("guess", worker="guess:GuessWorker", oracle="guess:GuessOracle", driver="guess:GuessDriver")


class GuessTask(NamedTuple):
    """A task of this kind.

    Attributes:
        low, high: the hidden number lies between them, both included.
    """

    task_id: str
    goal: str
    low: int
    high: int


TASKS: Final = (
    GuessTask("guess::one", "Guess a number, which is {low}.", 1, 1),
    GuessTask("guess::ten", "Guess a number from {low} to {high}.", 1, 10),
)


class GuessWorker:
    """The part beside the arm."""

    def parse(self, returned: object) -> JsonObject:
        """``{"guess": int}`` and nothing else."""
        guess = returned.get("guess") if isinstance(returned, dict) else None
        if type(guess) is not int:
            raise MalformedReport([f"a report is {{'guess': int}}, not {returned!r}"])
        return {"guess": guess}

    def not_reported(self, fault: ArmFault, detail: str) -> JsonObject:
        """No guess."""
        return {"guess": None}


class GuessOracle:
    """The part that judges; ``within`` is gold that no arm and no worker is told."""

    reads_before: bool = True

    def __init__(self, within: int) -> None:
        self._within = within

    def patience(self, task_id: str) -> Patience:
        """The record is at rest."""
        return Patience(0, 0)

    def judge(
        self, subject: Subject, report: JsonObject, before: Tables | None, after: Tables | ReadFailed
    ) -> Judgement:
        """Whether the guess was near enough."""
        if isinstance(after, ReadFailed):
            return Judgement(False, False, after.reason, {})
        hidden, guess = after["numbers"][0]["hidden"], report["guess"]
        assert isinstance(hidden, int)
        right = isinstance(guess, int) and abs(guess - hidden) <= self._within
        return Judgement(True, right, "compared", {"hidden": hidden, "right": right}, None if right else [hidden])


class GuessDriver:
    """The part in the driver."""

    def __init__(self, provider: Any, tasks: Sequence[GuessTask]) -> None:
        self._within, self._tasks = provider.within, tasks

    def oracle_fields(self) -> Mapping[str, Any]:
        """The gold."""
        return {"within": self._within}

    def problems(self, task: GuessTask, payload: Payload) -> Sequence[str]:
        """A range needs a lower and an upper end."""
        return [] if task.low <= task.high else [f"{task.low} is above {task.high}"]

    def task_digests(self) -> Mapping[str, str]:
        """All of a task is its content."""
        return {task.task_id: content_digest(list(task)) for task in self._tasks}

    def row(self, trial: Trial, report: JsonObject, judgement: Judgement, execution: Execution) -> dict[str, Any]:
        """The scored row."""
        fault = None if execution.arm_fault is None else execution.arm_fault.value
        return {"episode_id": trial.key, "arm": trial.arm, **report, **judgement.body, "arm_fault": fault}

    def label(self, row: Mapping[str, Any]) -> str:
        """Right or wrong."""
        return "right" if row["right"] else "wrong"

    def headline(self, labels: Mapping[str, int]) -> dict[str, float | None]:
        """The share of right guesses."""
        total = sum(labels.values())
        return {"accuracy": labels.get("right", 0) / total if total else None}

    def digest_entry(self, row: Mapping[str, Any]) -> dict[str, Json]:
        """All of a row is free of times and hosts."""
        return dict(row)

    def check_row(self, row: Mapping[str, Any]) -> list[str]:
        """Whether the verdict follows from the numbers."""
        right = row["guess"] is not None and abs(row["guess"] - row["hidden"]) <= self._within
        return [] if right == row["right"] else [f"right is {row['right']}, the numbers say {right}"]

    def summarise(self, episodes: Path, counts: Mapping[str, Counts], seed: int) -> tuple[dict[str, Any], list[Any]]:
        """Accuracy of each arm."""
        rows = [json.loads(line) for line in episodes.read_bytes().splitlines()]
        return {arm: self._summary([row for row in rows if row["arm"] == arm]) for arm in counts}, []

    def _summary(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        right = sum(row["right"] for row in rows)
        rate = right / len(rows) if rows else None
        return {"n_scored": len(rows), "accuracy": {"numerator": right, "denominator": len(rows), "rate": rate}}

    def sections(self, summary: Mapping[str, Any], episodes: Path) -> Sequence[Section]:
        """One table."""
        rates = {arm: figures["accuracy"] for arm, figures in summary["arms"].items()}
        rows = [(arm, f"{rate['numerator']}/{rate['denominator']}") for arm, rate in rates.items()]
        return [Section("Right guesses", ("An arm sees the range.",), ("arm", "accuracy"), rows)]


IN_MEMORY: Final = ReadPath("snapshot", final=True, where={})


class Game:
    """What an arm acts in: nothing, since a guess is a report."""

    tools: Sequence[Tool] = ()
    verifier: ProductVerifier | None = None

    async def attempt_intended_action(self) -> Screen:
        """There is nothing to do."""
        return Screen(saved=False, banner="Just guess")

    async def call(self, tool: str, arguments: JsonObject) -> Json:
        """There are no tools."""
        raise ToolError(f"there is no tool {tool!r}")


@dataclass
class Hiding:
    """The fixture: it holds the number."""

    hidden: int
    environment: Game
    read_path: ReadPath

    def snapshot(self) -> bytes:
        """The record."""
        return json.dumps({"numbers": [{"id": 1, "hidden": self.hidden}]}).encode()

    def seal(self) -> None:
        """Nothing can be changed anyway."""

    async def close(self) -> None:
        """Nothing is held."""


class Numbers:
    """The provider. Option ``within``: how far from the number a guess may lie."""

    name: str = "numbers"
    version: str = "1"

    def __init__(self, pack: str, split: str, options: Mapping[str, Any]) -> None:
        self.within: int = options.get("within", 0)

    def tasks(self) -> Sequence[GuessTask]:
        """Both."""
        return TASKS

    def payload(self, task: GuessTask, trial: int, run_seed: int) -> Payload:
        """The range that an arm is told."""
        return Payload(seed=run_seed * 1000 + trial, params={"low": task.low, "high": task.high})

    async def open(self, task: GuessTask, payload: Payload) -> Hiding:
        """Hide a number; trial 0 hides the lowest, trial 1 the next, and so on."""
        return Hiding(task.low + payload.seed % (task.high - task.low + 1), Game(), IN_MEMORY)

    def manifest(self) -> JsonObject:
        """What may be published."""
        return {"name": self.name}

    async def close(self) -> None:
        """Nothing is held."""


async def lowest(task: ArmTask, environment: Environment) -> Any:
    """Guess the lower end."""
    return {"guess": task.params["low"]}


def shrug(task: ArmTask, environment: object) -> Any:
    """Guess nothing."""
    return {"guess": "don't know"}
