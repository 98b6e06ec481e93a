"""``stop``: let a run at work end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import options
from orchestrator.cli.steering import steer

if TYPE_CHECKING:
    from orchestrator.control.client import Order


@click.command("stop", context_settings=options.SETTINGS)
@options.run_dir
@click.option("--drain", is_flag=True, help="What runs may end, the rest stays owed; the run ends with 3. The default.")
@click.option("--cancel", is_flag=True, help="What is owed becomes cancelled, what runs too; the run ends with 0.")
@options.as_json
@options.verbose
def stop_command(run_dir: Path, drain: bool, cancel: bool, as_json: bool) -> int:
    """Let the run in RUN_DIR end."""
    if drain and cancel:
        raise click.UsageError("--drain and --cancel exclude each other")
    order: Order = "cancel" if cancel else "drain"
    return steer(run_dir, lambda client: client.command(order), as_json=as_json)
