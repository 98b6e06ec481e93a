"""One trial of a run once more: in this process, with a fresh fixture and the same seed and payload.

It is a run of its own in a private directory that is removed afterwards: the same plan, narrowed to the trial's task
and arm, in which every other trial stands as cancelled. Nothing is written to the run that it repeats.
"""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from orchestrator.history import JOURNAL_NAME, read_history
from orchestrator.journal import JOURNAL_FORMAT, Journal, LineReader, LineType
from orchestrator.kinds.base import DriverSide
from orchestrator.ledger import NO_OFFSET, Standing
from orchestrator.preparation import Prepared
from orchestrator.runlock import RunLock
from orchestrator.session import continue_run
from orchestrator.shapes import from_row
from orchestrator.stored import Stored, find_trial, load_run_config, open_stored, part_changes, prepare_again
from orchestrator.watcher import Silence
from spec.canonical import JsonObject
from spec.clock import SystemClock
from spec.errors import InputError


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a trial gave the second time.

    Attributes:
        key: the trial.
        row: its row now, or None where it could not be scored.
        found: what ``results_digest`` would cover of it now.
        recorded: the same of the run's journal, or None where the trial is owed.
        changed: what differs between the run's latest plan and what is here now.
    """

    key: str
    row: Mapping[str, Any] | None
    found: JsonObject
    recorded: JsonObject | None
    changed: tuple[str, ...]

    @property
    def equal(self) -> bool | None:
        """Whether both are equal; None where nothing was recorded."""
        return None if self.recorded is None else self.found == self.recorded


def replay(run_dir: Path, key: str, environ: Mapping[str, str]) -> Replayed:
    """Run one trial of a run again.

    Args:
        run_dir: the run.
        key: the trial's key.
        environ: environment variables for ``${NAME}``.

    Raises:
        InputError: there is no such run or trial, or its tasks have changed since.
    """
    stored = open_stored(run_dir, environ)
    plan = stored.prepared.plan
    cell = plan.cell(find_trial(plan, key))
    narrowed = load_run_config(
        run_dir,
        environ,
        sets=("engine.kind=inline", f"run.trials={cell.trial + 1}"),
        key=(glob.escape(plan.task_ids[cell.task]), plan.arms[cell.arm]),
    )
    line = _run_last(prepare_again(narrowed))
    side = stored.prepared.side
    return Replayed(
        key=key,
        row=line.get("row"),
        found=_entry(side, line),
        recorded=_recorded(stored, key),
        changed=tuple(part_changes(stored.parts, stored.prepared.parts)),
    )


def _run_last(prepared: Prepared) -> dict[str, Any]:
    """Run the last trial of a plan and nothing else; its terminal line."""
    last = len(prepared.plan) - 1
    with tempfile.TemporaryDirectory(prefix="to-replay-") as folder, RunLock.acquire(Path(folder)) as lock:
        journal_path = lock.directory / JOURNAL_NAME
        journal = Journal.create(journal_path, {"run_id": "replay", "format": JOURNAL_FORMAT}, clock=SystemClock())
        journal.close()
        history = read_history(journal_path, prepared.plan)
        for ordinal in range(last):
            history.ledger.ended(ordinal, Standing.CANCELLED, NO_OFFSET)
        ended = continue_run(lock, prepared, history, {}, Silence())
        offset_bytes = history.ledger.offset_bytes(last)
        if offset_bytes is None:
            raise InputError(f"{prepared.plan.key(last)} came to no end: {ended.lost or 'the run was interrupted'}")
        with LineReader(journal_path) as lines:
            line: dict[str, Any] = orjson.loads(lines.read(offset_bytes))
        return line


def _recorded(stored: Stored, key: str) -> JsonObject | None:
    offset_bytes = stored.history.ledger.offset_bytes(find_trial(stored.prepared.plan, key))
    if offset_bytes is None:
        return None
    with LineReader(stored.run_dir / JOURNAL_NAME) as lines:
        return _entry(stored.prepared.side, orjson.loads(lines.read(offset_bytes)))


def _entry(side: DriverSide, line: Mapping[str, Any]) -> JsonObject:
    """What ``results_digest`` covers of a terminal line."""
    if line["type"] == LineType.SCORED:
        return from_row(line, side.digest_entry)
    return {"episode_id": line["key"], "type": line["type"]}
