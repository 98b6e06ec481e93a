"""``verify``: does a run say what its journal says?"""

from __future__ import annotations

import os
from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, say, stdout_kept

DIFFERS = 1


@click.command(
    "verify", short_help="Make every number again; name the first that differs.", context_settings=options.SETTINGS
)
@options.run_dir
@options.as_json
@options.verbose
def verify_command(run_dir: Path, as_json: bool) -> int:
    """Make every number of the run in RUN_DIR again and name the first difference."""
    from orchestrator.manifest import earned_info
    from orchestrator.stored import open_stored
    from orchestrator.verify import verify_run

    with stdout_kept():
        stored = open_stored(run_dir, os.environ)
        prepared = stored.prepared
        found = verify_run(
            run_dir,
            driver_side=prepared.side,
            plan=prepared.plan,
            seed=prepared.config.run.seed,
            kind_name=prepared.kind.name,
            # Another version of the provider has other things to say of itself, also where the tasks are the same.
            info={**prepared.info(), **earned_info(run_dir)} if stored.parts == prepared.parts else None,
            seed_of=stored.seed,
        )
    exit_code = 0 if found.ok else DIFFERS
    if as_json:
        difference = None if found.difference is None else found.difference._asdict()
        answer_json(exit_code, {"rows": found.rows, "figures": found.figures, "difference": difference})
    else:
        answer(f"{found.rows} rows and {found.figures} figures are right" if found.ok else str(found.difference))
    if not found.ok:
        say(f"`report {run_dir}` makes every file of the run again from its journal")
    return exit_code
