"""The archive's application: files an invoice as it was told, or as CLERK_FAULT makes it.

It stands for a system that somebody else runs, so it imports nothing of the orchestrator. It works in the folder of one
trial and prints what the screen would show.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

ARCHIVE = Path("archive")
OLD = ARCHIVE / "2025" / "inv-0001.txt"


def write(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def reset() -> dict[str, Any]:
    """An archive with one invoice of last year."""
    ARCHIVE.mkdir(mode=0o700)
    (ARCHIVE / "2026").mkdir(mode=0o700)
    write(OLD, "Invoice 0001\nTo: John Sample\nTotal: 80.00 EUR\n")
    return {}


def file_invoice(name: str, text: str, fault: str) -> dict[str, Any]:
    """File an invoice; what is painted may differ from what is written."""
    if fault != "not_written":
        write(ARCHIVE / name, text[: text.rindex("Total")] if fault == "truncated" else text)
    if fault == "filed_twice":
        write(ARCHIVE / "2025" / Path(name).name, text)
    if fault == "overwrites":
        write(OLD, text)
    return {"banner": f"Filed as {name}"}


def main() -> int:
    """Carry out one call, whose arguments are JSON on standard input."""
    if sys.argv[1] == "reset":
        shown = reset()
    elif sys.argv[1] == "list":
        shown = {"files": sorted(str(path.relative_to(ARCHIVE)) for path in ARCHIVE.rglob("*.txt"))}
    else:
        asked = json.load(sys.stdin)
        shown = file_invoice(asked["name"], asked["text"], os.environ.get("CLERK_FAULT", ""))
    print(json.dumps(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
