"""How long readings of real records take, and what an audit of a large one costs.

    python -m benchmarks.records [NAME ...] [--rows 1000000]

Makes its records in a temporary directory. ``audit`` reads a SQLite table of many rows before and after a small change
and judges the two, in a process of its own, so that the peak is that of the audit alone. Every other name is a channel:
the median and the slowest of many readings of a record of 1,000 rows, through the channel as the oracle calls it.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import duckdb

from benchmarks.harness import machine
from benchmarks.record_services import start_services
from oracle.base import Channel, ChannelContext, ReadFailed
from oracle.channels.fhir import FhirChannel
from oracle.channels.file import FileChannel
from oracle.channels.fs import FsChannel
from oracle.channels.rest import RestChannel
from oracle.channels.sql import SqlChannel
from oracle.effect import judge
from spec.canonical import Json, JsonObject
from spec.clock import SystemClock
from spec.contract import Effect, EffectKind
from spec.reading import ReadPath, RecordSchema, Tables, TrueState

RECORD_ROWS: Final = 1_000
READINGS: Final = 100
AUDIT_ROWS: Final = 1_000_000
MIB: Final = 2**20
NOTE: Final = "seen at the desk, sent on to the ward"


async def _fetch(worker: str, places: Sequence[int]) -> bytes:
    return b"{}"


def context() -> ChannelContext:
    """What every channel is made with here."""
    return ChannelContext(_fetch, SystemClock(), {})


def sqlite_record(folder: Path, rows: int) -> ReadPath:
    """A record of one table of encounters."""
    file = folder / f"{rows}.db"
    with closing(sqlite3.connect(file)) as base:
        base.execute(
            "CREATE TABLE encounters (id INTEGER PRIMARY KEY, patient TEXT, note TEXT, amount NUMERIC, at TEXT)"
        )
        base.executemany(
            "INSERT INTO encounters VALUES (?, ?, ?, ?, ?)",
            ((n, f"p{n % 977}", f"{NOTE} {n}", n * 0.25, "2026-01-31 12:00:00") for n in range(rows)),
        )
        base.commit()
    return ReadPath("sql", False, {"url": f"sqlite:///{file}"})


def file_record(form: str, folder: Path, rows: int) -> ReadPath:
    """A file of encounters in a format."""
    place = folder / f"{rows}.{form}"
    found: Sequence[dict[str, Json]] = [
        {"id": n, "patient": f"p{n % 977}", "note": f"{NOTE} {n}", "amount": n * 0.25} for n in range(rows)
    ]
    match form:
        case "json":
            place.write_text(json.dumps(found, indent=1))
        case "jsonl":
            place.write_text("".join(json.dumps(row) + "\n" for row in found))
        case "csv":
            lines = [",".join(f'"{value}"' for value in row.values()) for row in found]
            place.write_text("\n".join(["id,patient,note,amount", *lines, ""]))
        case _:
            query = (
                f"SELECT i AS id, 'p' || i AS patient, '{NOTE} ' || i AS note, i / 4 AS amount FROM range({rows}) r(i)"
            )
            duckdb.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet)")
    return ReadPath("file", True, {"tables": {"encounters": {"path": str(place), "format": form}}})


def tree(folder: Path, files: int) -> ReadPath:
    """A tree of small invoices in a hundred directories."""
    root = folder / f"tree-{files}"
    for n in range(files):
        place = root / f"{n % 100:03}" / f"{n}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{NOTE} {n}\n" * 10)
    return ReadPath("fs", True, {"root": str(root)})


def rest_record(folder: Path, rows: int) -> ReadPath:
    """The same behind a JSON service, in pages of 100."""
    table: JsonObject = {
        "path": "encounters",
        "rows": "rows",
        "next": {"style": "url", "path": "next"},
        "total": "total",
    }
    return ReadPath("rest", False, {"url": f"{start_services(rows)}/api", "tables": {"encounters": table}})


def fhir_record(folder: Path, rows: int, **options: Json) -> ReadPath:
    """Encounters on a FHIR server, in Bundles of 100."""
    where: JsonObject = {"url": f"{start_services(rows)}/r4", "searches": {"encounters": "Encounter"}}
    return ReadPath("fhir", False, {**where, "fields": {"encounters": {"note": "reasonCode[0].text"}}, **options})


Case = tuple[Callable[[ChannelContext], Channel], Callable[[Path, int], ReadPath]]
CASES: Final[Mapping[str, Case]] = {
    "sql": (SqlChannel, sqlite_record),
    **{f"file-{form}": (FileChannel, partial(file_record, form)) for form in ("json", "jsonl", "csv", "parquet")},
    "fs": (FsChannel, tree),
    "rest": (RestChannel, rest_record),
    "fhir": (FhirChannel, fhir_record),
    "fhir-model": (FhirChannel, partial(fhir_record, check="model")),
}
"""Name -> the channel, and what makes a record of some rows for it."""


async def read(channel: Channel, path: ReadPath) -> Tables:
    """One reading, which has to be clean."""
    (answer,) = await channel.read([path])
    if isinstance(answer, ReadFailed):
        raise SystemExit(f"no reading: {answer.reason}")
    return answer


async def median_reading(name: str, folder: Path) -> str:
    """Read a record again and again."""
    factory, record = CASES[name]
    channel, path, times = factory(context()), record(folder, RECORD_ROWS), []
    await read(channel, path)
    for _ in range(READINGS):
        start = time.perf_counter()
        await read(channel, path)
        times.append(time.perf_counter() - start)
    await channel.close()
    return (
        f"{name}: a record of {RECORD_ROWS} rows, {READINGS} readings: "
        f"median {statistics.median(times) * 1e3:.1f} ms, slowest {max(times) * 1e3:.1f} ms"
    )


async def audit(folder: Path, rows: int) -> str:
    """Read a large table, change three rows of it, read it again, and judge."""
    path = sqlite_record(folder, rows)
    channel, marks = SqlChannel(context()), [time.perf_counter()]
    before = await read(channel, path)
    marks.append(time.perf_counter())
    with closing(sqlite3.connect(folder / f"{rows}.db")) as base:
        base.execute("INSERT INTO encounters VALUES (-1, 'p1', 'new', 1, 'now')")
        base.execute("UPDATE encounters SET note = 'overwritten' WHERE id = 7")
        base.execute("DELETE FROM encounters WHERE id = 9")
        base.commit()
    marks.append(time.perf_counter())
    after = await read(channel, path)
    marks.append(time.perf_counter())
    effect = Effect(EffectKind.RECORD_WRITTEN, {"patient": "p1", "note": "new"}, count_new_only=True)
    finding = judge([effect], RecordSchema("encounters"), before, after)
    marks.append(time.perf_counter())
    assert finding.state is TrueState.WRONG_PERSISTED, finding
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        f"audit of {rows:,} rows: {marks[-1] - marks[0] - (marks[2] - marks[1]):.1f} s"
        f" (baseline {marks[1] - marks[0]:.1f}, after {marks[3] - marks[2]:.1f}, judged {marks[4] - marks[3]:.1f}),"
        f" peak {peak / MIB:.0f} MiB; {finding.reason}"
    )


def in_own_process(rows: int) -> None:
    """The audit, so that its peak is its own."""
    subprocess.run([sys.executable, "-m", "benchmarks.records", "audit-alone", "--rows", str(rows)], check=True)


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"audit, {', '.join(CASES)}; all without a name")
    parser.add_argument("--rows", type=int, default=AUDIT_ROWS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        if arguments.names == ["audit-alone"]:
            print(anyio.run(audit, Path(directory), arguments.rows), flush=True)
            return
        for name in arguments.names or ["audit", *CASES]:
            if name == "audit":
                in_own_process(arguments.rows)
            else:
                print(anyio.run(median_reading, name, Path(directory)), flush=True)
    print(machine())


if __name__ == "__main__":
    main()
