"""``set``: change a key of a run at work."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.steering import steer


@click.command("set", context_settings=options.SETTINGS)
@options.run_dir
@click.argument("setting", metavar="KEY=VALUE")
@options.as_json
@options.verbose
def set_command(run_dir: Path, setting: str, as_json: bool) -> int:
    """Set a key of the run in RUN_DIR, as in engine.in_flight=8; a later resume keeps it.

    Of the keys that no result depends on, those that take effect at once: engine.in_flight, engine.lease_max,
    arms.NAME.in_flight, run.drain_s, limits.stall_report_s, limits.heartbeat_s, limits.group_commit_ms.
    """
    return steer(run_dir, lambda client: client.set(setting), as_json=as_json)
