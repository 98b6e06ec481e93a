"""``python -m orchestrator``: looks whether it can start at all, then hands over to ``orchestrator.cli``.

The first look must not import anything else of ours: a user's folder may hold a module of the same name. And it imports
little at all before it has the signals, so that there is hardly a moment at which they find nobody.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn, TextIO

CANNOT_START = 2
ENDING = (signal.SIGINT, signal.SIGTERM)


def program() -> NoReturn:
    """Carry the process's own command line out, and end the process.

    A signal that comes before the command line has the signals finds nothing begun, and one that comes after the answer
    changes nothing: the exit code is the one that the answer names.
    """
    for number in ENDING:
        signal.signal(number, _leave)
    exit_code = main()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    _give_up_stdout()
    import threading

    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        _leave_threads(exit_code)
    sys.exit(exit_code)


def main(args: Sequence[str] | None = None) -> int:
    """Carry a command line out.

    Args:
        args: the words behind the program's name; None: those of the process.

    Returns:
        The exit code.
    """
    _open_closed_streams()
    words = sys.argv[1:] if args is None else list(args)
    hindrance = hindrance_of(sys.platform)
    if hindrance:
        return _refuse(hindrance, words)
    from orchestrator.cli.app import run_program

    for number in ENDING:  # the command line takes them now, and gives back what it found
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.SIG_IGN)
    return run_program(words)


def hindrance_of(platform: str) -> str:
    """Why the program cannot start here, or "".

    Args:
        platform: as ``sys.platform`` spells it.
    """
    if platform == "win32":
        return "Windows is not supported: runs are locked and synced the POSIX way; use WSL"
    from orchestrator.shadow import shadows

    return "; ".join(map(str, shadows()))


def _open_closed_streams() -> None:
    """Let standard streams that the caller has closed lead nowhere.

    Else the first file that is opened, perhaps the journal, would get such a stream's number and be written into.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _refuse(hindrance: str, words: Sequence[str]) -> int:
    print(f"error: {hindrance}", file=sys.stderr)
    if "--json" in words:
        import json

        error = {"file": None, "line": None, "key": None, "message": hindrance, "hint": None}
        body = {"exit": CANNOT_START, "run_dir": None, "conservation": None, "arms": {}, "error": error}
        print(json.dumps(body, separators=(",", ":")))
    return CANNOT_START


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Answer a signal that came before the command line could; what is being imported is neither used nor disturbed."""
    exit_code = 128 + number
    os.write(2, b"interrupted by %b\n" % (b"SIGINT" if number == signal.SIGINT else b"SIGTERM"))
    if "--json" in sys.argv:
        os.write(1, b'{"exit":%d,"run_dir":null,"conservation":null,"arms":{},"error":null}\n' % exit_code)
    os._exit(exit_code)


def _leave_threads(exit_code: int) -> NoReturn:
    """End without waiting for threads: an arm that blocks for ever would keep the process for ever."""
    import atexit

    atexit._run_exitfuncs()
    _flush(sys.stderr)
    os._exit(exit_code)


def _give_up_stdout() -> None:
    """Let what threads and exit handlers of an arm still print go to standard error: the answer stands alone."""
    _flush(sys.stdout)
    try:
        os.dup2(2, 1)
    except OSError:
        os.close(1)


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except Exception:  # noqa: BLE001 - a reader that is gone, or whatever an arm has put there
        return


if __name__ == "__main__":
    program()
