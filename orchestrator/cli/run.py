"""``run``: carry a configuration out; also the command where none is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestrator.cli import options
from orchestrator.cli.session import carry_out

if TYPE_CHECKING:
    from orchestrator.session import Ended
    from orchestrator.watcher import Watcher


@click.command("run", context_settings=options.SETTINGS)
@options.config_options
@click.option("--run-dir", type=click.Path(path_type=Path), help="A new or empty directory for the run.")
@options.as_json
@options.quiet
@options.verbose
def run_command(
    config: Path,
    inline: bool,
    sets: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    arms: tuple[str, ...],
    split: str | None,
    run_dir: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run a configuration."""

    def work(watcher: Watcher) -> Ended:
        from orchestrator.config import load_config

        loaded = load_config(
            config,
            environ=os.environ,
            sets=options.all_sets(sets, inline),
            tasks=tasks,
            arms=arms,
            split=split,
            limit=limit,
        )
        from orchestrator.preparation import check_provider, prepare
        from orchestrator.rundir import claim
        from spec.clock import SystemClock

        clock = SystemClock()
        prepared = prepare(loaded)
        check_provider(prepared)
        claimed = claim(prepared, run_dir, clock)
        with claimed.lock:  # the imports that take long come behind it
            from orchestrator.session import begin_run

            return begin_run(claimed, watcher, clock)

    return carry_out(work, as_json=as_json, quiet=quiet)
