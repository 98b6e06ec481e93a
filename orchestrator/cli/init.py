"""``init``: a configuration that runs, with an agent's skeleton or a declared record beside it."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json


@click.command(
    "init", short_help="Write a configuration and an agent to start from.", context_settings=options.SETTINGS
)
@click.argument("directory", default=Path(), type=click.Path(path_type=Path))
@click.option("--record", is_flag=True, help="A declared record in place of an agent: record.toml, desk.toml and more.")
@options.as_json
@options.verbose
def init_command(directory: Path, record: bool, as_json: bool) -> int:
    """Write agent.toml and my_agent.py into DIRECTORY (here, if left out); nothing is overwritten."""
    from orchestrator.starter import write_starter

    files = [str(path) for path in write_starter(directory, record=record)]
    if as_json:
        answer_json(0, {"files": files})
    else:
        answer("\n".join([*files, f"run it: python -m orchestrator --config {files[0]}"]))
    return 0
