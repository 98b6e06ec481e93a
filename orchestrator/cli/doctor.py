"""``doctor``: can this machine do it?"""

from __future__ import annotations

import os
from pathlib import Path

import click

from orchestrator.cli import options
from orchestrator.cli.output import answer, answer_json, stdout_kept

NOT_WELL = 1


@click.command("doctor", context_settings=options.SETTINGS)
@click.option("--ray", "with_ray", is_flag=True, help="Start Ray once, which takes ten seconds or so.")
@options.as_json
@options.verbose
def doctor_command(with_ray: bool, as_json: bool) -> int:
    """Check what a run needs of this machine."""
    from orchestrator.doctor import examine

    with stdout_kept():
        checks = examine(os.environ, Path.cwd(), with_ray=with_ray)
    exit_code = 0 if all(check.ok for check in checks) else NOT_WELL
    if as_json:
        answer_json(exit_code, {"checks": [check._asdict() for check in checks]})
    else:
        answer("\n".join(f"{'ok' if check.ok else 'NO'}  {check.name}: {check.detail}" for check in checks))
    return exit_code
