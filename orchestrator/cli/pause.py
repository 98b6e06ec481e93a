"""``pause``: let a run at work start nothing new for the time being."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.steering import steer


@click.command("pause", context_settings=options.SETTINGS)
@options.run_dir
@options.as_json
@options.verbose
def pause_command(run_dir: Path, as_json: bool) -> int:
    """Let the run in RUN_DIR start nothing new; what runs goes on."""
    return steer(run_dir, lambda client: client.command("pause"), as_json=as_json)
