"""``list``: what can be named in a configuration, and the runs of a directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json

WHAT = ("arms", "providers", "channels", "runs")


@click.command("list", short_help="List arms, providers, channels or runs.", context_settings=options.SETTINGS)
@click.argument("what", type=click.Choice(WHAT))
@click.option("--dir", "directory", default="runs", type=click.Path(path_type=Path), help="Where the runs lie.")
@options.as_json
@options.verbose
def list_command(what: str, directory: Path, as_json: bool) -> int:
    """List arms, providers or channels by name, or the runs of a directory."""
    entries = _runs(directory) if what == "runs" else _plugins(what)
    if as_json:
        answer_json(0, {what: entries})
    else:
        answer("\n".join(_lines(entries)) or f"no {what}")
    return 0


def _plugins(what: str) -> list[dict[str, Any]]:
    from orchestrator.plugins import list_arms, list_channels, list_providers

    listed = {"arms": list_arms, "providers": list_providers, "channels": list_channels}[what]()
    return [entry._asdict() for entry in listed]


def _runs(directory: Path) -> list[dict[str, Any]]:
    from orchestrator.status import list_runs

    return [run._asdict() for run in list_runs(directory)]


def _lines(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line an entry, in columns; what a run has scored is told as a share of its plan."""
    rows = []
    for entry in entries:
        row = dict(entry)
        if "planned" in row:
            row["scored"] = f"{_text(row['scored'])} of {_text(row.pop('planned'))} scored"
        rows.append([_text(value) for value in row.values()])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _text(value: object) -> str:
    from orchestrator.report.text import visible

    return "-" if value is None else visible(str(value))
