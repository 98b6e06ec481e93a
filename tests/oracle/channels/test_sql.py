"""Channel ``sql`` on real SQLite files: whole, at one moment, unable to write, and silent about credentials."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from oracle import rows
from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import REASON_CHARS_MAX
from oracle.channels.sql import FETCH_ROWS, SqlChannel
from oracle.channels.sql_dialects import Limits
from oracle.rows import StoredRows
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables

SCHEMA = """
CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, born DATE, active BOOLEAN, extra JSON);
CREATE TABLE bills (id INTEGER PRIMARY KEY, amount NUMERIC, scan BLOB);
CREATE VIEW adults AS SELECT * FROM patients;
"""
SECRET = "correct horse battery"


async def fetch(worker: str, places: Sequence[int]) -> bytes:
    return b"{}"


def channel(credentials: Mapping[str, str] | None = None, limits: Limits | None = None) -> SqlChannel:
    context = ChannelContext(fetch, SystemClock(), credentials or {})
    return SqlChannel(context) if limits is None else SqlChannel(context, limits)


def at(file: Path, **where: Json) -> ReadPath:
    return ReadPath("sql", False, {"url": f"sqlite:///{file}", **where})


def read(*paths: ReadPath, **options: Any) -> Sequence[Tables | ReadFailed]:
    async def main() -> Sequence[Tables | ReadFailed]:
        reader = channel(**options)
        try:
            return await reader.read(paths)
        finally:
            await reader.close()

    return anyio.run(main)


def tables(path: ReadPath, **options: Any) -> Tables:
    (answer,) = read(path, **options)
    assert not isinstance(answer, ReadFailed), answer.reason
    return answer


def reason(path: ReadPath, **options: Any) -> str:
    (answer,) = read(path, **options)
    assert isinstance(answer, ReadFailed), answer
    assert len(answer.reason) <= REASON_CHARS_MAX
    return answer.reason


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small record."""
    place = tmp_path / "record #1.db"
    with closing(sqlite3.connect(place)) as base:
        base.executescript(SCHEMA)
        base.execute("INSERT INTO patients VALUES (1, 'Ada', '1990-01-31', 1, '{\"a\": [1]}')")
        base.execute("INSERT INTO patients VALUES (2, NULL, NULL, NULL, 'no json')")
        base.execute("INSERT INTO bills VALUES (1, 12.5, x'00ff')")
        base.commit()
    return place


@pytest.fixture
def writer(file: Path) -> Iterator[sqlite3.Connection]:
    """The application, at work on the record."""
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as connection:
        yield connection


def test_the_whole_database_is_read_and_no_view(file: Path) -> None:
    """Every table comes with every row as JSON; truth values and JSON are what the schema says they are."""
    assert tables(at(file)) == {
        "patients": [
            {"id": 1, "name": "Ada", "born": "1990-01-31", "active": True, "extra": {"a": [1]}},
            {"id": 2, "name": None, "born": None, "active": None, "extra": "no json"},
        ],
        "bills": [{"id": 1, "amount": 12.5, "scan": "AP8="}],
    }


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ("[12345678901234567890123]", ["12345678901234567890123"]),
        ("[0.12345678901234567891]", ["0.12345678901234567891"]),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
    ],
)
def test_json_is_not_rounded(file: Path, writer: sqlite3.Connection, stored: str, read: Json) -> None:
    """A number in a column of JSON keeps every digit, and a member that stands twice is not merged."""
    writer.execute("UPDATE patients SET extra = ? WHERE id = 1", [stored])
    assert tables(at(file))["patients"][0]["extra"] == read


def test_excepted_tables_are_no_part_of_the_record(file: Path) -> None:
    """A table that the application keeps for itself is left out."""
    assert list(tables(at(file, **{"except": ["bills", "never there"]}))) == ["patients"]


def test_queries_stand_in_the_place_of_the_database(file: Path) -> None:
    """Each query's answer is a table; percent signs and colons in it are left alone."""
    wanted = {"as": "SELECT id, name AS 'n:%s' FROM patients WHERE name LIKE 'A%' AND name <> ':x'"}
    assert tables(at(file, queries=wanted)) == {"as": [{"id": 1, "n:%s": "Ada"}]}


def test_a_table_that_came_later_is_seen(file: Path, writer: sqlite3.Connection) -> None:
    """What is remembered of a schema is never in the way of a table that an agent made, whatever its template."""

    async def main() -> list[Tables | ReadFailed]:
        reader, path = channel(), at(file, template="clinic")
        (before,) = await reader.read([path])
        writer.execute('CREATE TABLE "odd ""name" (id INTEGER PRIMARY KEY, ok BOOLEAN)')
        writer.execute('INSERT INTO "odd ""name" VALUES (7, 0)')
        (after,) = await reader.read([path])
        return [before, after]

    before, after = anyio.run(main)
    assert isinstance(before, Mapping)
    assert isinstance(after, Mapping)
    assert set(after) - set(before) == {'odd "name'}
    assert after['odd "name'] == [{"id": 7, "ok": False}]


def test_many_records_are_read_at_once_in_order(tmp_path: Path) -> None:
    """Each answer belongs to its path, one failing record leaves the others readable, and no file stays open."""
    paths = []
    for number in range(20):
        place = tmp_path / f"{number}.db"
        with closing(sqlite3.connect(place)) as base:
            base.execute("CREATE TABLE t (id INTEGER)")
            base.execute("INSERT INTO t VALUES (?)", (number,))
            base.commit()
        paths.append(at(place))
    paths[3] = at(tmp_path / "gone.db")
    open_before = open_files()
    answers = read(*paths)
    assert open_files() == open_before
    assert isinstance(answers[3], ReadFailed)
    assert [answers[n] for n in (0, 2, 19)] == [{"t": [{"id": n}]} for n in (0, 2, 19)]


def test_rows_come_in_parts_and_none_is_lost(tmp_path: Path) -> None:
    """A table of more rows than are fetched at once is read whole."""
    place, count = tmp_path / "many.db", FETCH_ROWS * 3 + 1
    with closing(sqlite3.connect(place)) as base:
        base.execute("CREATE TABLE t (id INTEGER)")
        base.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(count)])
        base.commit()
    assert [row["id"] for row in tables(at(place))["t"]] == list(range(count))


def test_a_large_table_goes_to_disk(file: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound rows are kept on disk, and are the same rows."""
    monkeypatch.setattr(rows, "ROWS_IN_MEMORY_MAX", 10)
    writer.executemany("INSERT INTO bills (amount) VALUES (?)", [(n + 0.5,) for n in range(FETCH_ROWS + 100)])
    found = tables(at(file))
    assert isinstance(found["bills"], StoredRows)
    assert isinstance(found["patients"], list)
    assert [row["amount"] for row in found["bills"]] == [12.5, *(n + 0.5 for n in range(FETCH_ROWS + 100))]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_record_is_read_beside_its_application(file: Path, writer: sqlite3.Connection, journal: str) -> None:
    """In either journal mode a reading sees what is committed, and nothing that is not."""
    writer.execute(f"PRAGMA journal_mode = {journal}")
    writer.execute("INSERT INTO bills VALUES (2, 1, NULL)")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO bills VALUES (3, 1, NULL)")
    assert [row["id"] for row in tables(at(file))["bills"]] == [1, 2]


def test_one_reading_is_one_moment(file: Path, writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write between two tables of a reading is in neither of them."""
    writer.execute("PRAGMA journal_mode = wal")
    from oracle.channels import sql

    whole: Callable[..., Any] = sql._rows

    def rows_then_write(*arguments: Any) -> Any:
        found = whole(*arguments)
        writer_2 = sqlite3.connect(file, isolation_level=None)
        with closing(writer_2):
            writer_2.execute("INSERT INTO patients (name) VALUES ('late')")
            writer_2.execute("INSERT INTO bills (amount) VALUES (99)")
        return found

    monkeypatch.setattr(sql, "_rows", rows_then_write)
    found = tables(at(file))
    assert (len(found["patients"]), len(found["bills"])) == (2, 1)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO bills (amount) VALUES (1) RETURNING id", "readonly"),
        ("DELETE FROM bills", "readonly"),
        ("UPDATE bills SET amount = 0", "readonly"),
        ("CREATE TABLE mine (id INTEGER)", "readonly"),
        ("DROP TABLE bills", "readonly"),
        ("SELECT 1; DELETE FROM bills", "one statement at a time"),
        ("COMMIT", "no SELECT"),
        ("PRAGMA query_only = 0", "no SELECT"),
        ("", "no statement"),
        ("SELEC 1", "syntax error"),
        ("SELECT id, id FROM bills", "same name"),
        ("SELECT * FROM nowhere", "no such table: nowhere"),
        ("SELECT 9e999 AS x", "the number inf cannot be read"),
    ],
)
def test_what_is_no_reading_statement_is_refused_by_the_database(file: Path, statement: str, why: str) -> None:
    """Whatever a query tries, the file stays byte for byte as it was, and the reason says why there is no reading."""
    before = file.read_bytes()
    assert why in reason(at(file, queries={"t": statement}))
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_the_mode_cannot_be_switched_off_by_an_earlier_query(file: Path) -> None:
    """A query that lifts the guard of the connection ends the reading, and the file is opened for reading anyway."""
    queries = {"a": "PRAGMA query_only = 0", "b": "DELETE FROM bills RETURNING id"}
    before = file.read_bytes()
    assert "table 'a'" in reason(at(file, queries=queries))
    assert file.read_bytes() == before


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A missing record is no empty record, and reading it leaves nothing behind."""
    assert "there is no SQLite file" in reason(at(tmp_path / "gone.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_no_reading(tmp_path: Path) -> None:
    """Half a download is no record."""
    (tmp_path / "half.db").write_bytes(b"x" * 5000)
    assert "not a database" in reason(at(tmp_path / "half.db"))


def test_a_torn_database_is_no_reading(file: Path, writer: sqlite3.Connection) -> None:
    """Where pages are missing no row is believed."""
    writer.execute("BEGIN")
    writer.executemany("INSERT INTO bills (amount) VALUES (?)", [(n,) for n in range(5000)])
    writer.execute("COMMIT")
    writer.close()
    os.truncate(file, file.stat().st_size // 2 // 4096 * 4096)
    assert "malformed" in reason(at(file))


def test_a_database_in_memory_is_refused() -> None:
    """It would be a new and empty one."""
    assert "in memory" in reason(ReadPath("sql", False, {"url": "sqlite://"}))


def test_a_locked_record_is_a_reason_in_time(file: Path, writer: sqlite3.Connection) -> None:
    """A lock is waited for no longer than the limit."""
    writer.execute("BEGIN EXCLUSIVE")
    assert "locked" in reason(at(file), limits=Limits(connect_s=0.05))


def test_an_endless_statement_is_ended(file: Path) -> None:
    """A query that would run for ever is interrupted when the reading's time is over."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    assert "not read within 0.2 s" in reason(at(file, queries={"t": endless}), limits=Limits(reading_s=0.2))


def test_a_reading_that_nobody_waits_for_ends(file: Path) -> None:
    """Cancelling a reading returns at once, and its thread stops working soon after."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"

    async def main() -> None:
        reader = channel()
        with anyio.move_on_after(0.2) as scope:
            await reader.read([at(file, queries={"t": endless})])
        assert scope.cancelled_caught

    anyio.run(main)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"url": "sqlite:////x", "sqll": 1}, "has no 'sqll'"),
        ({}, "either url or url_env"),
        ({"url": "sqlite:////x", "url_env": "URL"}, "either url or url_env"),
        ({"url": "no url at all"}, "it is no database URL"),
        ({"url": "nosuch://h/db"}, "SQLAlchemy knows no such database"),
        ({"url": "oracle+cx_oracle://h/db"}, "cannot be held to reading"),
        ({"url": "postgresql+pg8000://h/db"}, "through the driver psycopg"),
        ({"url_env": "NOT_THERE"}, "has no credential 'NOT_THERE'"),
        ({"url": f"postgresql://me:{SECRET}@127.0.0.1:1/db"}, "must have no password"),
        ({"url": f"postgresql://me@127.0.0.1:1/db?password={SECRET}"}, "must have no password"),
        ({"url_env": "URL"}, "127.0.0.1"),
        ({"url": "postgresql://me@127.0.0.1:1/db", "password_env": "PW"}, "127.0.0.1"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_reason_without_credentials(where: Mapping[str, Json], why: str) -> None:
    """Every wrong address is told as what it is, and no password with it."""
    credentials = {"URL": f"postgresql://me:{SECRET}@127.0.0.1:1/db", "PW": SECRET}
    found = reason(ReadPath("sql", False, where), credentials=credentials)
    assert why in found
    assert SECRET not in found
    assert "horse" not in found


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"except": "bills"}, "except of a read path must be a list"),
        ({"queries": {}}, "queries of a read path must be an object"),
        ({"queries": {"t": 5}}, "the query of table 't' is no statement"),
        ({"queries": {"t": "SELECT 1"}, "except": ["bills"]}, "either queries or except"),
    ],
)
def test_a_path_of_a_wrong_shape_is_a_reason(file: Path, where: Mapping[str, Json], why: str) -> None:
    """A read path that says something else than it means is never read as something else."""
    assert why in reason(at(file, **where))
