"""``python -m orchestrator``: looks whether it can start at all, then hands over to ``orchestrator.cli``.

The first look must not import anything else of ours: a user's folder may hold a module of the same name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.shadow import shadows

CANNOT_START = 2


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

    return run_program(words)


def hindrance_of(platform: str) -> str:
    """Why the program cannot start here, or "".

    Args:
        platform: as ``sys.platform`` spells it.
    """
    if platform == "win32":
        return "Windows is not supported: runs are locked and synced the POSIX way; use WSL"
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
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open as long as the process


def _refuse(hindrance: str, words: Sequence[str]) -> int:
    print(f"error: {hindrance}", file=sys.stderr)
    if "--json" in words:
        error = {"file": None, "line": None, "key": None, "message": hindrance, "hint": None}
        body = {"exit": CANNOT_START, "run_dir": None, "conservation": None, "arms": {}, "error": error}
        print(json.dumps(body, separators=(",", ":")))
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
