"""How a command that came to nothing says so: one line a problem, an exit code, and never a traceback unasked."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from orchestrator.cli.interrupts import Interrupted
from orchestrator.cli.output import error_json, error_lines, plain_error, say, say_safely
from spec.errors import OrchestratorError

USAGE: Final = 2
INTERNAL: Final = 70
_SIGINT_EXIT: Final = 130


class Failure(NamedTuple):
    """How a command failed.

    Attributes:
        exit_code: what the process should end with.
        error: for the JSON answer; None where a signal ended the command.
    """

    exit_code: int
    error: dict[str, Any] | None


def told(error: BaseException, *, verbose: bool, run_dir: Path | None = None) -> Failure:
    """Tell a person what went wrong, and how the process should end.

    Args:
        error: what was raised.
        verbose: show the traceback of an internal error.
        run_dir: the run directory, where there is one; it keeps the traceback of an internal error.
    """
    if isinstance(error, Interrupted | KeyboardInterrupt | click.Abort):
        return _interrupted(error, run_dir)
    if isinstance(error, OrchestratorError):
        for line in error_lines(error):
            say_safely(f"error: {line}")
        return Failure(error.exit_code, error_json(error))
    if isinstance(error, click.ClickException):
        return _misused(error)
    return _internal(error, run_dir, verbose)


def _interrupted(error: BaseException, run_dir: Path | None) -> Failure:
    exit_code = error.exit_code if isinstance(error, Interrupted) else _SIGINT_EXIT
    rest = "" if run_dir is None else f"; `resume {run_dir}` goes on"
    say(f"interrupted by {error if isinstance(error, Interrupted) else 'SIGINT'}{rest}")
    return Failure(exit_code, None)


def _misused(error: click.ClickException) -> Failure:
    message = error.format_message()
    hint = f"see `{error.ctx.command_path} -h`" if isinstance(error, click.UsageError) and error.ctx else ""
    say_safely(f"error: {message}" + (f" ({hint})" if hint else ""))
    return Failure(USAGE, plain_error(message) | {"hint": hint or None})


def _internal(error: BaseException, run_dir: Path | None, verbose: bool) -> Failure:
    reason = " ".join(traceback.format_exception_only(error)[-1].split())
    message = f"internal error: {reason}"
    if verbose:
        say("".join(traceback.format_exception(error)))
    else:
        message += f"; {_keep_traceback(error, run_dir)}"
    say_safely(f"error: {message}")
    return Failure(INTERNAL, plain_error(message))


def _keep_traceback(error: BaseException, run_dir: Path | None) -> str:
    """Write the traceback into the run's log where there is one; says where to find it."""
    if run_dir is None:
        return "-v shows the traceback"
    from orchestrator.log import LOG_NAME, RunLog
    from spec.clock import SystemClock

    try:
        with RunLog(run_dir, SystemClock()) as log:
            log.logger.error("internal error", exc_info=error)
    except (OSError, OrchestratorError):
        return "-v shows the traceback"
    return f"the traceback stands in {run_dir / LOG_NAME}"
