"""``status``: how a run stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept

if TYPE_CHECKING:
    from orchestrator.engine.processes import Processes
    from orchestrator.status import Status


@click.command("status", context_settings=options.SETTINGS)
@options.run_dir
@options.as_json
@options.verbose
def status_command(run_dir: Path, as_json: bool) -> int:
    """Say how the run in RUN_DIR stands."""
    from orchestrator.status import read_status

    with stdout_kept():
        status = read_status(run_dir, os.environ)
    if as_json:
        body = {
            "run_id": status.run_id,
            "phase": status.phase,
            "sessions": status.sessions,
            "conservation": status.conservation,
            "arms": status.arms,
            "pids": {} if status.processes is None else status.processes._asdict(),
            "in_flight": [trial._asdict() for trial in status.in_flight],
            "note": status.note or None,
        }
        answer_json(0, body)
    else:
        answer(status_text(status))
    return 0


def status_text(status: Status) -> str:
    """The status for a person."""
    from orchestrator.report.text import visible

    parts = dict(status.conservation)
    planned = parts.pop("planned")
    lines = [
        f"{status.run_id}: {status.phase.value}, sessions so far: {status.sessions}",
        f"{planned} planned = " + " + ".join(f"{count} {name}" for name, count in parts.items()),
        *(f"{arm}: {_figures_text(figures)}" for arm, figures in status.arms.items()),
        *([] if status.processes is None else [f"{len(status.in_flight)} in flight, {_who(status.processes)}"]),
        *([status.note] if status.note else []),
    ]
    return "\n".join(map(visible, lines))


def _who(processes: Processes) -> str:
    """The processes with their ids, for somebody who wants to look at one."""
    parts = [
        f"driver {processes.driver}",
        *(f"worker {pid}" for pid in processes.workers),
        *(f"oracle {pid}" for pid in processes.oracles),
    ]
    return ", ".join(parts)


def _figures_text(figures: Mapping[str, float | None]) -> str:
    rest = dict(figures)
    counts = f"{rest.pop('n_scored')} of {rest.pop('n_planned')} scored"
    return ", ".join([counts, *(f"{name} {'-' if rate is None else f'{rate:.4f}'}" for name, rate in rest.items())])
