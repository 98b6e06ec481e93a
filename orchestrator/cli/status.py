"""``status``: how a run stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept

if TYPE_CHECKING:
    from orchestrator.control.flight import Flight
    from orchestrator.engine.processes import Processes
    from orchestrator.status import Status

TRIALS_SHOWN: Final = 20


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
            "in_flight": [trial._asdict() for trial in status.flight.trials],
            "left_off": status.flight.left_off,
            "live": status.flight.live,
            "seen_at": status.flight.seen_at,
            "paused": status.flight.paused,
            "draining": status.flight.draining,
            "silent_s": status.flight.silent_s,
            "in_flight_max": status.flight.in_flight_max,
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
        *([] if status.processes is None else [_who(status.processes)]),
        *_flight_lines(status.flight),
        *([status.note] if status.note else []),
    ]
    return "\n".join(map(visible, lines))


def _flight_lines(flight: Flight) -> list[str]:
    """What is on its way, the oldest trials one a line."""
    from orchestrator.control.flight import trial_text

    count = len(flight.trials) + flight.left_off
    if not (count or flight.live):
        return []
    words = [
        f"{count} in flight" if flight.live else f"{count} in flight when last seen, {flight.seen_at}",
        *(["paused"] if flight.paused else []),
        *(["ending"] if flight.draining else []),
        *([] if flight.silent_s is None else [f"last news {flight.silent_s:.1f} s before"]),
    ]
    shown = flight.trials[:TRIALS_SHOWN]
    rest = [f"and {count - len(shown)} more; --json has them"] if count > len(shown) else []
    return [", ".join(words), *(trial_text(trial, live=flight.live) for trial in shown), *rest]


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
