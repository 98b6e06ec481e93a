"""Runs a configuration of the folder ``thirdparty`` to its end, and reads back what it left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from orchestrator.config import load_config
from orchestrator.history import JOURNAL_NAME
from orchestrator.journal import Line, recover
from orchestrator.preparation import Prepared, prepare
from orchestrator.results import EPISODES
from orchestrator.session import Ended, run
from orchestrator.verify import Verification, verify_run

THIRDPARTY: Final = Path(__file__).parent / "thirdparty"


@dataclass(frozen=True)
class Finished:
    """A run that has ended.

    Attributes:
        ended: how.
        prepared: its configuration, prepared once more.
    """

    ended: Ended
    prepared: Prepared

    @property
    def digest(self) -> str:
        """``results_digest``."""
        return str(self.ended.summary["results_digest"])

    def arm(self, name: str) -> dict[str, Any]:
        """An arm's summary."""
        found: dict[str, Any] = self.ended.summary["arms"][name]
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The scored rows, in plan order."""
        return [orjson.loads(line) for line in (self.ended.run_dir / EPISODES).read_bytes().splitlines()]

    def lines(self, *types: str) -> list[dict[str, Any]]:
        """The bodies of the journal's lines of some types, in order."""
        found: list[dict[str, Any]] = []

        def keep(line: Line) -> None:
            if line.type.value in types:
                found.append(dict(line.fields()))

        recover(self.ended.run_dir / JOURNAL_NAME, keep)
        return found

    def outcomes(self, arm: str) -> dict[str, Counter[str]]:
        """Task -> how often each outcome came."""
        counts: dict[str, Counter[str]] = {}
        for row in self.rows():
            if row["arm"] == arm:
                counts.setdefault(row["task_id"].rpartition("::")[2], Counter())[row["outcome"]] += 1
        return counts

    def verify(self) -> Verification:
        """Make every number again."""
        plan, side, seed = self.prepared.plan, self.prepared.side, self.prepared.config.run.seed
        return verify_run(self.ended.run_dir, driver_side=side, plan=plan, seed=seed)


RunIt = Callable[..., Finished]


@pytest.fixture
def run_it(tmp_path: Path) -> RunIt:
    """Runs ``thirdparty/<name>`` with some keys set, in a directory of the test's own."""

    def run_one(name: str, sets: Sequence[str] = (), folder: Path = THIRDPARTY) -> Finished:
        loaded = load_config(folder / name, environ={}, sets=sets)
        number = sum(1 for _ in tmp_path.glob("run-*"))
        ended = run(loaded, run_dir=tmp_path / f"run-{number}")
        return Finished(ended, prepare(loaded))

    return run_one
