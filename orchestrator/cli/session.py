"""What ``run`` and ``resume`` have in common: who watches, what is said at the end, and the one line of the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.cli.failures import told
from orchestrator.cli.interrupts import Interrupted, note_signals, settle_signals
from orchestrator.cli.options import is_verbose
from orchestrator.cli.output import KeptStdout, plain_error, run_answer, say, stdout_kept

if TYPE_CHECKING:
    from orchestrator.session import Ended
    from orchestrator.watcher import Watcher


def carry_out(work: Callable[[Watcher], Ended], *, as_json: bool, quiet: bool) -> int:
    """Run a session and tell how it ended.

    Args:
        work: the session; is given who watches it.
        as_json: answer with one line on standard output.
        quiet: say nothing but errors on standard error.

    Returns:
        The exit code.
    """
    from orchestrator.cli.watching import watcher_for

    with stdout_kept() as kept:
        watcher = watcher_for(quiet)

        def fail(error: BaseException) -> int:
            failure = told(error, verbose=is_verbose(), run_dir=watcher.run_dir)
            if as_json:
                run_dir = None if watcher.run_dir is None else str(watcher.run_dir)
                kept.write_line(run_answer(failure.exit_code, run_dir=run_dir, error=failure.error))
            return failure.exit_code

        def trials_over() -> None:
            note_signals(lambda number: os._exit(fail(Interrupted(number))))
            kept.mend_streams()

        watcher.at_end = trials_over
        try:
            with watcher:
                ended = work(watcher)
        except BaseException as error:  # noqa: BLE001 - every end of a session has its line and its exit code
            settle_signals()
            kept.mend_streams()
            return fail(error)
        number = settle_signals()
        kept.mend_streams()
        if number is not None:
            say(f"{number.name} came when nothing was left to stop; the results are whole")
            ended = replace(ended, exit_code=128 + number)
        return _tell(ended, kept, as_json=as_json, quiet=quiet)


def _tell(ended: Ended, kept: KeptStdout, *, as_json: bool, quiet: bool) -> int:
    if not quiet:
        _summarise(ended)
    if as_json:
        line = run_answer(
            ended.exit_code,
            run_dir=str(ended.run_dir),
            conservation=ended.summary["conservation"],
            arms=plain_figures(ended.summary, ended.headline),
            error=plain_error(ended.lost) if ended.lost else None,
        )
        kept.write_line(line)
    return ended.exit_code


def _summarise(ended: Ended) -> None:
    from orchestrator.report import Report, print_report
    from orchestrator.results import REPORT_HTML

    print_report(Report(ended.summary, ended.headline, ()), sys.stderr)
    say(f"report: {ended.run_dir / REPORT_HTML}")


def plain_figures(summary: Mapping[str, Any], headline: tuple[str, ...]) -> dict[str, dict[str, float | None]]:
    """The figures of each arm as plain numbers; null where nothing was scored."""
    return {arm: _figures(of_arm, headline) for arm, of_arm in summary["arms"].items()}


def _figures(of_arm: Mapping[str, Any], headline: tuple[str, ...]) -> dict[str, float | None]:
    counts = {"n_planned": of_arm.get("n_planned"), "n_scored": of_arm.get("n_episodes")}
    return counts | {name: _plain(of_arm.get(name)) for name in headline}


def _plain(figure: object) -> float | None:
    value = figure.get("rate") if isinstance(figure, Mapping) else figure
    return value if isinstance(value, int | float) else None
