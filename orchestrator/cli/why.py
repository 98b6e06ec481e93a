"""``why``: why a trial stands as it does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json

if TYPE_CHECKING:
    from orchestrator.why import Attempt, Why


@click.command("why", short_help="Say where one trial is and what it waits for.", context_settings=options.SETTINGS)
@options.run_dir
@options.key
@options.as_json
@options.verbose
def why_command(run_dir: Path, key: str, as_json: bool) -> int:
    """Say where the trial KEY of the run in RUN_DIR is, since when, and what it waits for."""
    from orchestrator.why import read_why

    why = read_why(run_dir, key, os.environ)
    if as_json:
        body = why._asdict() | {
            "flight": None if why.flight is None else why.flight._asdict(),
            "attempts": [attempt._asdict() for attempt in why.attempts],
        }
        answer_json(0, body)
    else:
        answer(why_text(why))
    return 0


def why_text(why: Why) -> str:
    """The answer for a person."""
    from orchestrator.control.flight import trial_text
    from orchestrator.report.text import visible

    lines = [
        f"{why.key}: {why.state.value}",
        *([] if why.flight is None else [trial_text(why.flight, live=why.works)]),
        *(["waits for: " + why.waits_for] if why.waits_for else []),
        *map(_attempt_text, why.attempts),
    ]
    return "\n".join(map(visible, lines))


def _attempt_text(attempt: Attempt) -> str:
    leased = f" leased to {attempt.worker} at {attempt.leased_at}" if attempt.leased_at else ""
    end = f", {attempt.how} at {attempt.ended_at}" if attempt.how else ", no end"
    reason = ": ".join(part for part in (attempt.cause, attempt.detail) if part)
    return f"attempt {attempt.number}{leased}{end}" + (f" ({reason})" if reason else "")
