"""``report``: make a run's files again from its journal."""

from __future__ import annotations

import os
from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept


@click.command("report", context_settings=options.SETTINGS)
@options.run_dir
@options.as_json
@options.verbose
def report_command(run_dir: Path, as_json: bool) -> int:
    """Make summary and reports of the run in RUN_DIR again."""
    from orchestrator.results import EPISODES, REPORT_HTML, REPORT_MARKDOWN, SUMMARY
    from orchestrator.runlock import RunLock
    from orchestrator.session import make_results
    from orchestrator.stored import open_stored, read_head

    read_head(run_dir)  # before the lock, whose file must not be left in a directory that holds no run
    with stdout_kept(), RunLock.acquire(run_dir):
        stored = open_stored(run_dir, os.environ)
        history = stored.history
        summary = make_results(
            run_dir,
            stored.run_id,
            stored.prepared,
            history.ledger,
            stored.known,
            latest=history.latest,
            content=stored.content,
        )
    files = [str(run_dir / name) for name in (EPISODES, SUMMARY, REPORT_MARKDOWN, REPORT_HTML)]
    if as_json:
        digest = summary["results_digest"]
        answer_json(0, {"files": files, "conservation": summary["conservation"], "results_digest": digest})
    else:
        answer("\n".join(files))
    return 0
