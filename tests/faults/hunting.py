"""Kills parts of a running run, one after the other, as fast as the run gets over it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from random import Random
from typing import Final

from tests.checker import Violation, check
from tests.faults.card import Recorder
from tests.faults.harness import REFERENCE, SLOW, Run, Runs, wait_until
from tests.faults.nursery import Nursery

LOOK_S: Final = 0.1
NOTICED_S: Final = 15.0
"""A lost part is noticed at its next sign of life, ``heartbeat_s`` and six seconds after the last, at the latest."""
ON_RAY: Final = ("engine.workers=2", "engine.in_flight=2")
"""Nothing that results depend on; slow enough that a run lasts for a dozen kills."""

Kill = Callable[[int], None]


def at_once(pid: int) -> None:
    """SIGKILL."""
    os.kill(pid, signal.SIGKILL)


def at_work(pid: int) -> None:
    """Stop a process until work has piled up before it, then SIGKILL: it dies with requests unanswered."""
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(pid, signal.SIGKILL)


class Hunt:
    """Runs of the slow arm on Ray whose parts of one sort are killed.

    Args:
        runs: makes the runs.
        nursery: asks for their status.
        row: counts.
        part: as ``status --json`` names it: ``workers`` or ``oracles``.
        trials: of each task, for each run.
    """

    def __init__(self, runs: Runs, nursery: Nursery, row: Recorder, part: str, trials: int) -> None:
        self._runs, self._nursery, self._row, self._part = runs, nursery, row, part
        self._sets = (f"run.trials={trials}",)
        self._undisturbed = runs.undisturbed(SLOW, self._sets)

    def kill(self, count: int, rng: Random, *ways: Kill) -> None:
        """Kill so many in as many runs as that takes, and judge each run."""
        while count > 0:
            run = self._runs.new().begin(SLOW, (*self._sets, *ON_RAY))
            self._row.trial()
            killed = self._in_one(run, count, rng, ways)
            code = run.end()
            found = check(run.run_dir, undisturbed=self._undisturbed, exit_code=code, marker=run.marker)
            self._row.violations([*found, *self._unnoticed(run, killed)])
            if killed == 0:
                raise AssertionError(f"nothing could be killed: {run.output('err').read_text()}")
            count -= killed

    def _in_one(self, run: Run, count: int, rng: Random, ways: tuple[Kill, ...]) -> int:
        """Kill while the run lasts: each time after a row that came since the last loss was noticed."""
        killed, rows = 0, 0
        while killed < count and self._progressed(run, rows):
            time.sleep(rng.uniform(0, 0.3))
            pids = self._nursery.status(run).get("pids") or {}
            victims: list[int] = pids.get(self._part) or []
            if not victims:
                break
            lost = run.count("note")
            with contextlib.suppress(ProcessLookupError):
                rng.choice(ways)(rng.choice(victims))
                killed += 1
                self._row.inject()
                self._noticed(run, lost)
            rows = run.count("scored")
        return killed

    def _noticed(self, run: Run, lost: int) -> bool:
        return wait_until(lambda: run.count("note") > lost or run.ended(), NOTICED_S, LOOK_S)

    def _progressed(self, run: Run, rows: int) -> bool:
        """Whether the run has got over the last blow: a new row, and no trial that was hit is still to be repeated."""
        over = wait_until(lambda: (run.count("scored") > rows and not run.repeats()) or run.ended(), 60, LOOK_S)
        return over and not run.ended()

    def _unnoticed(self, run: Run, killed: int) -> list[Violation]:
        """A loss that nothing tells of; the last one may have come behind the last trial.

        The journal tells of workers that had begun, the log of those that were killed on their way to that.
        """
        log = (run.run_dir / "log.jsonl").read_text()
        told = run.count("note") + log.count("could not be started")
        if killed - 1 <= told <= killed:
            return []
        return [Violation("I4", f"{killed} of {self._part} were killed, and the journal tells of {told}")]


PLANNED: Final = 36
"""Of the reference: nine tasks, two arms, two trials."""
SETS: Final = ("run.trials=2",)
STEP_BY_STEP: Final = (*SETS, "engine.in_flight=1", "engine.lease_max=1", "limits.group_commit_ms=400")
"""The reference, so slowly that it lasts longer than a loss takes to be noticed."""
ENDS_S: Final = 30.0


def kill_control(runs: Runs, nursery: Nursery, row: Recorder, part: str, rows: int) -> None:
    """Kill a control process of Ray after so many rows: the run ends by itself with 3, and resume does the rest.

    Args:
        runs: makes the run.
        nursery: has the undisturbed one, and resumes.
        row: counts and judges.
        part: as ``status --json`` names it: ``raylet`` or ``gcs``.
        rows: how many rows come before.
    """
    run = runs.new().begin(REFERENCE, STEP_BY_STEP)
    assert run.reached("scored", rows), run.output("err").read_text()
    victim = nursery.status(run)["pids"][part]
    before = run.acknowledged()
    row.trial()
    row.inject()
    os.kill(victim, signal.SIGKILL)
    try:
        code = run.end(ENDS_S)
    except subprocess.TimeoutExpired:
        row.violations([Violation("I7", f"the driver is at work {ENDS_S:g} s after the {part} was killed")])
        run.kill()
        code = 3
    owed = PLANNED - run.count("scored")
    found = check(run.run_dir, before=before, exit_code=code, expected_exits=(3,), owed=owed, marker=run.marker)
    row.violations(found)
    before = run.acknowledged()
    row.violations(check(run.run_dir, undisturbed=nursery.undisturbed, before=before, exit_code=nursery.resume(run)))
