"""``replay``: one trial again, in this process."""

from __future__ import annotations

import os
from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_indented, answer_json, say_safely, stdout_kept

DIFFERS = 1
_WORDS = {True: "as recorded", False: "not as recorded", None: "nothing is recorded of this trial"}


@click.command("replay", short_help="Run one trial again, in this process.", context_settings=options.SETTINGS)
@options.run_dir
@options.key
@options.as_json
@options.verbose
def replay_command(run_dir: Path, key: str, as_json: bool) -> int:
    """Run the trial KEY of the run in RUN_DIR again, with a fresh fixture and the same seed."""
    from orchestrator.replay import replay

    with stdout_kept():  # an arm that prints must not write into the answer
        replayed = replay(run_dir, key, os.environ)
    exit_code = DIFFERS if replayed.equal is False else 0
    for change in replayed.changed:
        say_safely(f"since the run's last session: {change}")
    if as_json:
        body = {
            "key": key,
            "row": replayed.row,
            "equal": replayed.equal,
            "found": replayed.found,
            "recorded": replayed.recorded,
            "changed": replayed.changed,
        }
        answer_json(exit_code, body)
    else:
        shown = replayed.row if replayed.row is not None else replayed.found
        answer_indented(shown)
        answer(f"{key}: {_WORDS[replayed.equal]}")
    return exit_code
