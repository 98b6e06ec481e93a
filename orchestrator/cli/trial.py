"""``trial``: everything that a run's journal says about one trial."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import orjson

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_indented, answer_json, seen


@click.command("trial", short_help="Show one trial with all its attempts.", context_settings=options.SETTINGS)
@options.run_dir
@options.key
@options.as_json
@options.verbose
def trial_command(run_dir: Path, key: str, as_json: bool) -> int:
    """Show the row of the trial KEY of the run in RUN_DIR, and its attempts."""
    from orchestrator.status import read_trial

    told = read_trial(run_dir, key, os.environ)
    if as_json:
        answer_json(0, {"key": key, "standing": told.standing, "row": told.row, "lines": told.lines})
    else:
        answer("\n".join([f"{key}: {told.standing}", *map(_line_text, told.lines)]))
        if told.row is not None:
            answer_indented(told.row)
    return 0


def _line_text(line: dict[str, Any]) -> str:
    """One line of the journal for a person, the row apart."""
    facts = {name: value for name, value in line.items() if name not in ("type", "at", "row", "keys", "trial_digest")}
    return f"{line['at']} {line['type']} {seen(orjson.dumps(facts).decode())}"
