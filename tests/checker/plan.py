"""What was planned, from a run's own files: the journal's openings and ``run.toml``."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tests.checker.journal import Journal


class Cell(NamedTuple):
    """Which task, arm and trial a key names."""

    task: str
    arm: str
    trial: int


@dataclass(frozen=True)
class Plan:
    """The trials of a run as its last session knew them.

    Attributes:
        tasks, arms: name -> digest, in plan order.
        seed_is_trial: the provider is the one whose trials have their own number as seed.
        earlier: ``arm::task`` of each session's plan; one that is planned no longer keeps its lines.
    """

    kind: str
    tasks: dict[str, str]
    arms: dict[str, str]
    provider: str
    trials: int
    seed_is_trial: bool
    earlier: frozenset[str]

    def cells(self) -> Iterator[tuple[str, Cell]]:
        """Key and cell of each trial, in plan order."""
        for task in self.tasks:
            for arm in self.arms:
                for trial in range(self.trials):
                    yield f"{arm}::{task}::t{trial}", Cell(task, arm, trial)

    def trial_digest(self, cell: Cell, seed: int) -> str:
        """What the terminal line of a trial must carry."""
        parts = [self.tasks[cell.task], self.arms[cell.arm], self.provider, seed]
        return "sha256:" + hashlib.sha256(orjson.dumps(parts)).hexdigest()


def read_plan(run_dir: Path, journal: Journal) -> Plan:
    """The plan of the last session.

    Raises:
        OSError, ValueError, KeyError, IndexError: the files do not say.
    """
    config: dict[str, Any] = tomllib.loads((run_dir / "run.toml").read_text(encoding="utf-8"))
    openings = list(journal.of("head", "resume"))
    opening = openings[-1]
    parts = opening.fields["parts"]
    return Plan(
        kind=str(config["run"]["kind"]),
        tasks=dict(parts["tasks"]),
        arms={arm["name"]: parts["arms"][arm["name"]] for arm in config["arms"]},
        provider=str(parts["provider"]),
        trials=int(opening.fields.get("trials", config["run"]["trials"])),
        seed_is_trial=config["provider"]["use"] == "mockmed",
        earlier=frozenset(cell for opening in openings for cell in _cells(opening.fields["parts"])),
    )


def _cells(parts: dict[str, Any]) -> Iterator[str]:
    return (f"{arm}::{task}" for task in parts["tasks"] for arm in parts["arms"])
