"""``resume``: run what a run owes."""

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


@click.command("resume", context_settings=options.SETTINGS)
@options.run_dir
@options.inline
@options.sets
@options.retry
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Go on though the plan has changed: trials that are others now run again, the rest is kept.",
)
@options.as_json
@options.quiet
@options.verbose
def resume_command(
    run_dir: Path, inline: bool, sets: tuple[str, ...], retry: str, accept_changes: bool, as_json: bool, quiet: bool
) -> int:
    """Run what the run in RUN_DIR owes, and only that."""

    def work(watcher: Watcher) -> Ended:
        from orchestrator.runlock import RunLock

        # The lock comes before the imports that take long: a second resume is refused at once.
        with RunLock.acquire(run_dir.absolute()) as lock:
            from orchestrator.resume import resume

            return resume(
                lock,
                environ=os.environ,
                watcher=watcher,
                sets=options.all_sets(sets, inline),
                retry=options.words(retry),
                accept_changes=accept_changes,
            )

    return carry_out(work, as_json=as_json, quiet=quiet)
