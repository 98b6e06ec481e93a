"""What the commands that steer a run at work have in common: they say one thing and tell what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.output import answer, answer_json

if TYPE_CHECKING:
    from orchestrator.control.client import Client


def steer(run_dir: Path, say: Callable[[Client], str], *, as_json: bool) -> int:
    """Ask something of the run in a directory and answer with what it did.

    Args:
        run_dir: the run directory.
        say: asks, and gives what happened.
        as_json: answer with one object.

    Raises:
        InputError: nobody works there, or the run refuses.
    """
    from orchestrator.control.client import START_WAIT_S, Client
    from orchestrator.report.text import visible

    text = say(Client(run_dir, start_wait_s=START_WAIT_S))
    if as_json:
        answer_json(0, {"run_dir": str(run_dir), "text": text})
    else:
        answer(visible(text))
    return 0
