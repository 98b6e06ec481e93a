"""How long the journal of a large run takes to be read back, as `resume`, `status` and `report` do first of all.

    python -m benchmarks.recovery [--rows 1000000] [--repeats 3] [--folder DIR]

Writes a journal as the engine writes it into a temporary directory: leases of 256 keys, scored rows of real size with
their digests, a commit every hundred rows. Then reads it in a process of its own: crc, number and chain of every line
are checked, and standing, attempts and place of every trial are known afterwards. Prints the best and the worst of the
repeats, in seconds of the processor and by the clock, and the machine. The directory is removed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.harness import machine
from benchmarks.summary import driver, plan_of, rows
from orchestrator.content import Content
from orchestrator.history import JOURNAL_NAME, read_history
from orchestrator.journal import JOURNAL_FORMAT, LineType
from orchestrator.journal.lines import FIRST_PREV, frame
from orchestrator.plan import Plan
from spec.canonical import JsonObject, digest_bytes

LEASE_KEYS: Final = 256
COMMIT_ROWS: Final = 100
AT: Final = "2026-01-31T12:00:00.000000Z"


def bodies(plan: Plan) -> Iterator[tuple[LineType, str | None, JsonObject]]:
    """What the engine has to say of a run without any trouble, commits left out."""
    digests = {name: digest_bytes(name.encode()) for name in (*plan.task_ids, *plan.arms)}
    parts: dict[str, Any] = {
        "tasks": {name: digests[name] for name in plan.task_ids},
        "arms": {name: digests[name] for name in plan.arms},
        "provider": digest_bytes(b"provider"),
    }
    digest = digest_bytes(b"plan")
    yield LineType.HEAD, None, {"run_id": "r", "format": JOURNAL_FORMAT, "plan_digest": digest, "parts": parts}
    content, lines = Content(parts, plan), map(orjson.loads, rows(driver(), plan))
    for start in range(0, len(plan), LEASE_KEYS):
        ordinals = range(start, min(start + LEASE_KEYS, len(plan)))
        keys = [plan.key(ordinal) for ordinal in ordinals]
        yield LineType.LEASE, None, {"lease": start, "worker": "worker-1", "keys": keys, "attempt": 1}
        for ordinal, row in zip(ordinals, islice(lines, len(ordinals)), strict=True):
            trial_digest = content.digest(ordinal, row["seed"])
            yield LineType.SCORED, plan.key(ordinal), {"attempt": 1, "trial_digest": trial_digest, "row": row}
    yield LineType.END, None, {"exit": 0, "conservation": {"planned": len(plan), "scored": len(plan)}}


def framed(plan: Plan) -> Iterator[bytes]:
    """The same as lines of a journal, with a commit behind each group."""
    prev, offset, seq, scored = FIRST_PREV, 0, 0, 0
    for line_type, key, body in bodies(plan):
        data, prev = frame(seq, prev, line_type, AT, key, body)
        yield data
        seq, offset, scored = seq + 1, offset + len(data), scored + (line_type is LineType.SCORED)
        if line_type is LineType.END or (line_type is LineType.SCORED and scored % COMMIT_ROWS == 0):
            data, prev = frame(seq, prev, LineType.COMMIT, AT, None, {"offset": offset})
            yield data
            seq, offset = seq + 1, offset + len(data)


def write(path: Path, count: int) -> None:
    """Write the journal."""
    with path.open("wb", buffering=1 << 20) as file:
        file.writelines(framed(plan_of(count)))


def measure(path: Path, count: int, repeats: int) -> None:
    """Read the journal and print what it took."""
    plan = plan_of(count)
    processor_s, clock_s = [], []
    for _ in range(repeats):
        at_first, began = time.process_time(), time.perf_counter()
        history = read_history(path, plan)
        processor_s.append(time.process_time() - at_first)
        clock_s.append(time.perf_counter() - began)
        if history.ledger.owed() or history.recovered.cut is not None or not history.recovered.ended:
            raise SystemExit("the journal was not read as it was written")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 if sys.platform == "darwin" else 1024)
    print(
        f"{len(plan):,} scored trials, {history.recovered.seq:,} lines ({path.stat().st_size / 1e6:,.0f} MB): "
        f"{min(processor_s):.2f} to {max(processor_s):.2f} s of the processor, "
        f"{min(clock_s):.2f} to {max(clock_s):.2f} s by the clock, peak {peak:,} MiB"
    )
    print(f"machine: {machine()}")


def main() -> None:
    """Write the journal, then measure in a fresh process."""
    parser = argparse.ArgumentParser(description="Time and memory of reading a large journal back.")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="Where the temporary directory is made.")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        measure(given.measure, given.rows, given.repeats)
        return
    with tempfile.TemporaryDirectory(prefix="bench-", dir=given.folder) as folder:
        path = Path(folder) / JOURNAL_NAME
        write(path, given.rows)
        numbers = ["--rows", str(given.rows), "--repeats", str(given.repeats)]
        subprocess.run([sys.executable, "-m", "benchmarks.recovery", *numbers, "--measure", str(path)], check=True)


if __name__ == "__main__":
    main()
