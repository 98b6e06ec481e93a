"""What goes where: answers to standard output, words for people to standard error, and nothing else to either.

``run`` and ``resume`` answer with exactly one line, and only with ``--json``; whatever else writes to standard output
meanwhile (Ray's processes, an arm that prints) is sent to standard error, by the descriptor and not by Python's stream.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TextIO

import orjson

from spec.errors import ConfigError, ConfigErrors, OrchestratorError

STDOUT: Final = 1
STDERR: Final = 2
_RUNS: Final = ("run", "resume")


def say(text: str) -> None:
    """Tell a person something, on standard error; a closed one is no reason to fail."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def say_safely(text: str) -> None:
    """The same for text that may come from outside: one line, control characters written out."""
    from orchestrator.report.text import visible

    say(visible(text))


def answer(text: str) -> None:
    """Print a command's answer; a reader that has gone away ends nothing."""
    try:
        print(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _point_stdout_nowhere()


def answer_json(exit_code: int, body: Mapping[str, Any], error: Mapping[str, Any] | None = None) -> None:
    """Print a command's answer as one object."""
    answer(to_json({"exit": exit_code, "error": error, **body}).decode())


def to_json(body: Mapping[str, Any]) -> bytes:
    """One line of JSON, without its line break."""
    return orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS)


class KeptStdout:
    """Standard output, put aside while a command runs.

    Args:
        descriptor: a copy of the real one, or None where the process has none.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def write_line(self, line: bytes) -> None:
        """Write one line to the real standard output; a reader that has gone away ends nothing."""
        rest = memoryview(line + b"\n")
        with contextlib.suppress(OSError):
            while self._descriptor is not None and rest:
                rest = rest[os.write(self._descriptor, rest) :]


@contextlib.contextmanager
def stdout_kept() -> Iterator[KeptStdout]:
    """Put standard output aside and let everything that is written to it go to standard error."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    try:
        kept = os.dup(STDOUT)
    except OSError:
        yield KeptStdout(None)
        return
    try:
        _redirect_stdout()
        with contextlib.redirect_stdout(sys.stderr):  # Python's stream need not lead to the descriptor
            yield KeptStdout(kept)
    finally:
        os.dup2(kept, STDOUT)
        os.close(kept)


def run_answer(
    exit_code: int,
    *,
    run_dir: str | None = None,
    conservation: Mapping[str, int] | None = None,
    arms: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> bytes:
    """The one line that ``run`` and ``resume`` answer with."""
    return to_json(
        {"exit": exit_code, "run_dir": run_dir, "conservation": conservation, "arms": arms or {}, "error": error}
    )


def failure_answer(command: str, exit_code: int, error: Mapping[str, Any] | None) -> bytes:
    """The one line for a command that came to nothing."""
    return run_answer(exit_code, error=error) if command in _RUNS else to_json({"exit": exit_code, "error": error})


def error_json(error: BaseException) -> dict[str, Any]:
    """An error as ``{"file", "line", "key", "message", "hint"}``; of several problems the first, unknown parts null."""
    first: BaseException = error.errors[0] if isinstance(error, ConfigErrors) else error
    if isinstance(first, ConfigError):
        return {
            "file": first.file or None,
            "line": first.line,
            "key": first.key or None,
            "message": first.message,
            "hint": first.hint or None,
        }
    return plain_error(str(first))


def plain_error(message: str) -> dict[str, Any]:
    """An error of which only the message is known."""
    return {"file": None, "line": None, "key": None, "message": message, "hint": None}


def error_lines(error: OrchestratorError) -> Sequence[str]:
    """One line for each problem."""
    errors: Sequence[Exception] = error.errors if isinstance(error, ConfigErrors) else (error,)
    return [" ".join(str(each).split("\n")) for each in errors]


def is_live_terminal(stream: TextIO) -> bool:
    """Whether a line on ``stream`` can be drawn over."""
    return stream.isatty() and os.environ.get("TERM", "") != "dumb"


def _redirect_stdout() -> None:
    try:
        os.dup2(STDERR, STDOUT)
    except OSError:  # there is no standard error either
        _point_stdout_nowhere()


def _point_stdout_nowhere() -> None:
    """So that the interpreter's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT)
    os.close(nowhere)
