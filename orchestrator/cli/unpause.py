"""``unpause``: let a run at work start trials again."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.steering import steer


@click.command("unpause", context_settings=options.SETTINGS)
@options.run_dir
@options.as_json
@options.verbose
def unpause_command(run_dir: Path, as_json: bool) -> int:
    """Let the run in RUN_DIR start trials again."""
    return steer(run_dir, lambda client: client.command("unpause"), as_json=as_json)
