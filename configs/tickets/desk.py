"""The desk's application: closes a ticket as it was told, or as DESK_FAULT makes it.

It stands for a system that somebody else runs, so it imports nothing of the orchestrator. It acts as a role that cannot
change tables, on the database of one trial, and prints what the screen would show.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import psycopg

CLOSED = "Ticket closed"


def find(desk: psycopg.Connection[Any], number: int) -> tuple[int, dict[str, Any]]:
    """What the screen shows of a ticket."""
    row = desk.execute("SELECT number, subject, status FROM tickets WHERE number = %s", (number,)).fetchone()
    if row is None:
        return 1, {"banner": "There is no such ticket"}
    return 0, dict(zip(("number", "subject", "status"), row, strict=True))


def close(desk: psycopg.Connection[Any], number: int, note: str, fault: str) -> tuple[int, dict[str, Any]]:
    """Close a ticket; what is painted may differ from what is written."""
    target = number + 1 if fault == "neighbour" else number
    written = None if fault == "note_dropped" else note
    if fault != "rejected":
        desk.execute(
            "UPDATE tickets SET status = 'closed', note = %s, changed_at = now() WHERE number = %s", (written, target)
        )
    if fault == "billed_too":
        desk.execute("INSERT INTO billing (number, minutes) VALUES (%s, 60)", (number,))
    banner = "The server did not answer" if fault == "error_after_commit" else f"{CLOSED}: {number}"
    desk.execute("INSERT INTO screen_log (banner) VALUES (%s)", (banner,))
    return (1 if fault == "error_after_commit" else 0), {"banner": banner}


def main() -> int:
    """Carry out one call, whose arguments are JSON on standard input."""
    asked = json.load(sys.stdin)
    with psycopg.connect(os.environ["DESK_DSN"]) as desk:
        if sys.argv[1] == "find":
            code, shown = find(desk, asked["number"])
        else:
            code, shown = close(desk, asked["number"], asked["note"], os.environ.get("DESK_FAULT", ""))
    print(json.dumps(shown))
    return code


if __name__ == "__main__":
    sys.exit(main())
