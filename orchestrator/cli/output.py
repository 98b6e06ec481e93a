"""What goes where: answers to standard output, words for people to standard error, and nothing else to either.

``run`` and ``resume`` answer with exactly one line, and only with ``--json``; whatever else writes to standard output
meanwhile (Ray's processes, an arm that prints) is sent to standard error, by the descriptor and not by Python's stream.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TextIO

import orjson

from spec.errors import ConfigError, ConfigErrors, OrchestratorError

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
_RUNS: Final = ("run", "resume")


def say(text: str) -> None:
    """Tell a person something, on standard error; a closed one, or one that an arm has put there, ends nothing."""
    with contextlib.suppress(Exception):
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


def answer_indented(value: object) -> None:
    """Print a JSON value for a person to read."""
    answer(seen(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()))


def seen(text: str) -> str:
    """JSON in which no text from outside can steer a terminal or break a line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def to_json(body: Mapping[str, Any]) -> bytes:
    """One line of JSON, without its line break; what UTF-8 cannot hold, as in a file's name, is a question mark."""
    try:
        text = orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        text = json.dumps(body, default=str, ensure_ascii=False).encode(errors="replace").decode()
    return seen(text).encode()


class KeptStdout:
    """Standard output, put aside while a command runs.

    Args:
        descriptor: a copy of the real one, or None where the process has none.
        stderr: a copy of standard error's descriptor, or None where the process has none.
    """

    def __init__(self, descriptor: int | None, stderr: int | None) -> None:
        self._descriptor, self._stderr, self._stream = descriptor, stderr, sys.stderr

    def mend_streams(self) -> None:
        """Put Python's streams back, and the descriptors that are closed, whatever an arm has done to them."""
        for number in (STDIN, STDOUT, STDERR):
            if not _is_open(number):
                _fill(number, None if number == STDIN else self._stderr)
        if self._stream is not None and self._stream.closed:
            self._stream = os.fdopen(STDERR, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stdout = sys.stderr = self._stream

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
    kept, stderr = _copy(STDOUT), _copy(STDERR)
    if kept is None:
        yield KeptStdout(None, stderr)
        return
    with contextlib.ExitStack() as closing:
        for descriptor in (kept, stderr):
            if descriptor is not None:
                closing.callback(_close_quietly, descriptor)
        closing.callback(_fill, STDOUT, kept)
        _redirect_stdout()
        with contextlib.redirect_stdout(sys.stderr):  # Python's stream need not lead to the descriptor
            yield KeptStdout(kept, stderr)


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


def _copy(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:
        return None


def _close_quietly(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _fill(number: int, copy: int | None) -> None:
    """Let a standard stream's number lead where a copy leads, or nowhere."""
    try:
        if copy is None:
            raise OSError
        os.dup2(copy, number)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)


def _redirect_stdout() -> None:
    _fill(STDOUT, STDERR if _is_open(STDERR) else None)


def _point_stdout_nowhere() -> None:
    """So that the interpreter's last flush does not fail."""
    _fill(STDOUT, None)
