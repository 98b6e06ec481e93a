"""All invariants of one run directory."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tests.checker.journal import Journal, read_journal
from tests.checker.plan import read_plan
from tests.checker.results import judge_results
from tests.checker.rows import Trials, judge_trials
from tests.checker.traces import judge_processes, judge_secrets
from tests.checker.violation import Violation


def check(
    run_dir: Path,
    *,
    undisturbed: Path | None = None,
    before: bytes | None = None,
    exit_code: int | None = None,
    expected_exits: Collection[int] = (0,),
    canary: str | None = None,
    owed: int = 0,
    marker: str | None = None,
) -> list[Violation]:
    """Judge a run directory.

    Args:
        run_dir: the run directory, on which nobody works at the moment.
        undisturbed: a run directory of the same plan whose results this one must have.
        before: the journal's acknowledged bytes as they were before the fault; still there, byte for byte.
        exit_code: how the run's last process ended; None: not looked at.
        expected_exits: the documented codes for what happened.
        canary: a text planted in the ground truth.
        owed: how many trials are owed; 0 also asks for a journal that is closed as it should be.
        marker: known to all processes of the run and to no other; see ``judge_processes``.

    Returns:
        What is violated; nothing where all is well.
    """
    found = [] if marker is None else judge_processes(marker)
    if exit_code is not None and exit_code not in expected_exits:
        wanted = " or ".join(map(str, sorted(expected_exits)))
        found.append(Violation("I7", f"exit code {exit_code}, not {wanted}"))
    path = run_dir / "journal.jsonl"
    if not path.is_file():
        return [*found, Violation("I2", "there is no journal")]
    data = path.read_bytes()
    journal = read_journal(data, closed=owed == 0)
    found += journal.violations
    if before is not None and not data.startswith(before):
        found.append(Violation("I2", f"the first {len(before)} bytes were acknowledged and are no longer there"))
    found += _judge_content(run_dir, journal, undisturbed, owed)
    if exit_code is not None and (ends := list(journal.of("end"))) and ends[-1].fields["exit"] != exit_code:
        found.append(Violation("I7", f"the journal's end says {ends[-1].fields['exit']}, the process {exit_code}"))
    if canary is not None:
        found += judge_secrets(run_dir, canary)
    return found


def _judge_content(run_dir: Path, journal: Journal, undisturbed: Path | None, owed: int) -> list[Violation]:
    try:
        plan = read_plan(run_dir, journal)
        trials = Trials(journal, plan)
        found = judge_trials(run_dir, trials, journal, owed)
        if journal.closed or undisturbed is not None:
            found += judge_results(run_dir, plan, trials.in_plan_order(), undisturbed)
        return found
    except (OSError, ValueError, LookupError, TypeError) as error:
        return [Violation("I4", f"the run's files cannot be read: {type(error).__name__}: {error}")]
