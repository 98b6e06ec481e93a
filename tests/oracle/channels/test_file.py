"""Channel ``file``: every format whole and strict, and only while its file stands still."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pytest

from oracle import rows
from oracle.base import ChannelContext, ReadFailed
from oracle.channels import file as module
from oracle.channels.file import FileChannel
from oracle.rows import StoredRows
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables


async def _fetch(worker: str, places: Sequence[int]) -> bytes:
    return b"{}"


def read(*paths: ReadPath) -> Sequence[Tables | ReadFailed]:
    async def main() -> Sequence[Tables | ReadFailed]:
        channel = FileChannel(ChannelContext(_fetch, SystemClock(), {}))
        try:
            return await channel.read(paths)
        finally:
            await channel.close()

    return anyio.run(main)


def at(file: Path, form: str, **where: Json) -> ReadPath:
    return ReadPath("file", True, {"tables": {"t": {"path": str(file), "format": form}}, **where})


def rows_of(file: Path, form: str, data: bytes) -> list[Any]:
    file.write_bytes(data)
    (answer,) = read(at(file, form))
    assert not isinstance(answer, ReadFailed), answer.reason
    return list(answer["t"])


def reason(path: ReadPath) -> str:
    (answer,) = read(path)
    assert isinstance(answer, ReadFailed), answer
    return answer.reason


def write_parquet(query: str, place: Path) -> None:
    relation = duckdb.sql(query)
    assert relation is not None
    relation.write_parquet(str(place))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.mark.parametrize(
    ("form", "data", "expected"),
    [
        ("json", b'[{"a": 1}, {"a": null, "b": [1.5, "x"]}]', [{"a": 1}, {"a": None, "b": [1.5, "x"]}]),
        ("json", b'\n{\n  "a": {"b": "\\u00e9"}\n}\n', [{"a": {"b": "é"}}]),
        ("json", b"[]", []),
        ("json", b'[{"a": 0.12345678901234567890}]', [{"a": "0.12345678901234567890"}]),
        ("json", b'[{"a": 18446744073709551617}]', [{"a": "18446744073709551617"}]),
        ("jsonl", b'{"a":1}\n\n{"a": "x, y: z"}\r\n{"a":2}', [{"a": 1}, {"a": "x, y: z"}, {"a": 2}]),
        ("jsonl", b"", []),
        ("csv", b'a,"b c"\r\n1,\r\n"x, ""y""",""\r\n', [{"a": "1", "b c": None}, {"a": 'x, "y"', "b c": ""}]),
        ("csv", '\ufeffa,b\n"two\nlines",é\n'.encode(), [{"a": "two\nlines", "b": "é"}]),
        ("csv", b"a,b\n", []),
    ],
)
def test_a_file_is_its_rows(place: Path, form: str, data: bytes, expected: Json) -> None:
    """Each format is read to the value: no number is rounded, an empty field is null, a quoted one is a text."""
    assert rows_of(place, form, data) == expected


def test_parquet_is_typed(place: Path) -> None:
    """What a column of a Parquet file is, is what its values are read as."""
    write_parquet(
        "SELECT 1 AS id, 12.50::DECIMAL(9, 2) AS amount, TIMESTAMP '2026-01-31 12:00' AS at, [1, NULL] AS list,"
        " {'a': true} AS part, '\\x00'::BLOB AS data, NULL AS nothing, 0.1::DOUBLE AS ratio",
        place,
    )
    (answer,) = read(at(place, "parquet"))
    assert answer == {
        "t": [
            {
                "id": 1,
                "amount": "12.50",
                "at": "2026-01-31T12:00:00",
                "list": [1, None],
                "part": {"a": True},
                "data": "AA==",
                "nothing": None,
                "ratio": 0.1,
            }
        ]
    }


def test_parquet_is_not_rounded(place: Path) -> None:
    """A number of 32 bits is what it says, nanoseconds stay, and a month is not thirty days, inside of lists too."""
    write_parquet(
        """SELECT 0.1::FLOAT AS "a ""FLOAT", [0.1::FLOAT, NULL] AS list, {'FLOAT': 0.1::FLOAT} AS part,"""
        " TIMESTAMP_NS '2026-01-31 12:00:00.123456789' AS at, INTERVAL 1 MONTH AS month, INTERVAL 30 DAY AS days",
        place,
    )
    (answer,) = read(at(place, "parquet"))
    assert answer == {
        "t": [
            {
                'a "FLOAT': 0.1,
                "list": [0.1, None],
                "part": {"FLOAT": 0.1},
                "at": "2026-01-31 12:00:00.123456789",
                "month": "1 month",
                "days": "30 days",
            }
        ]
    }


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        ("json", b"", "is no JSON"),
        ("json", b'[{"a": 1}, {"a"', "is no JSON"),
        ("json", b'[{"a": NaN}]', "is no JSON"),
        ("json", b'[{"a": 1, "a": 2}]', "a member twice"),
        ("json", b"[1]", "row 1 is no object"),
        ("json", b'"text"', "row 1 is no object"),
        ("jsonl", b'{"a":1}\n{"a":', "half a line: line 2 is no JSON"),
        ("jsonl", b'{"a":1}\nx\n{"a":2}\n', "line 2 is no JSON"),
        ("jsonl", b'{"a":1}{"a":2}\n', "line 1 is no JSON"),
        ("jsonl", b'{"a":"\xff"}\n', "line 1 is no JSON"),
        ("csv", b"", "no whole line with the names"),
        ("csv", b"a,b\n1,2\n3,4", "ends within a line"),
        ("csv", b"a,b\n1\n", "Line: 2"),
        ("csv", b"a,b\n1,2,3\n", "Line: 2"),
        ("csv", b'a,b\n1,"x\n', "Line: 2"),
        ("csv", b"a,b\n1,\xff\n", "Line: 2"),
        ("csv", b"a,a\n1,2\n", "one name twice"),
        ("csv", b"a,\n1,2\n", "without a name"),
        ("parquet", b"", "too small"),
        ("parquet", b"PAR1" + b"x" * 100, "magic bytes"),
    ],
)
def test_what_is_not_whole_is_no_reading(place: Path, form: str, data: bytes, why: str) -> None:
    """Half a file, half a line, a doubtful member: each is a reason, and none of it is rows."""
    place.write_bytes(data)
    found = reason(at(place, form))
    assert why in found
    assert str(place) in found


def test_a_missing_file_is_no_empty_one(place: Path) -> None:
    """Unless the read path says so."""
    assert reason(at(place, "json")) == f"there is no file {place}"
    assert read(at(place / "deeper", "json", missing="empty")) == [{"t": []}]


def test_a_file_that_changes_while_it_is_read_is_no_reading(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is added, another file in its place and a file that comes late are all seen."""
    place.write_bytes(b'{"a":1}\n')
    late = place.with_name("late")
    where: Json = {
        "tables": {name.name: {"path": str(name), "format": "jsonl"} for name in (place, late)},
        "missing": "empty",
    }
    whole = FileChannel._rows
    assert isinstance(where, dict)

    def change_then_rows(change: Any) -> Any:
        def rows_of_one(*arguments: Any) -> Any:
            found = whole(*arguments)
            change()
            return found

        return rows_of_one

    def replace() -> None:
        place.with_name("new").write_bytes(b'{"a":1}\n')
        place.with_name("new").replace(place)

    def grow() -> None:
        with place.open("ab") as file:
            file.write(b"\n")

    for change in (grow, replace, lambda: late.write_bytes(b"")):
        late.unlink(missing_ok=True)
        place.write_bytes(b'{"a":1}\n')
        monkeypatch.setattr(FileChannel, "_rows", change_then_rows(change))
        assert "changed while it was read" in reason(ReadPath("file", True, where))


def test_what_is_no_plain_file_is_not_opened(place: Path) -> None:
    """A symlink could lead to what the oracle alone may read, and a pipe would never end."""
    (place.parent / "secret").write_bytes(b'{"a":1}\n')
    place.symlink_to(place.parent / "secret")
    assert "is no plain file" in reason(at(place, "jsonl"))
    place.unlink()
    os.mkfifo(place)
    assert "is no plain file" in reason(at(place, "jsonl"))
    assert "is no plain file" in reason(at(place.parent, "jsonl"))


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_large_file_goes_to_disk(place: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of every format that can be large come in parts, and beyond the bound are kept on disk."""
    monkeypatch.setattr(rows, "ROWS_IN_MEMORY_MAX", 100)
    if form == "parquet":
        write_parquet("SELECT i AS id FROM range(3500) r(i)", place)
    else:
        line = '{{"id":{}}}\n' if form == "jsonl" else "{}\n"
        head = "" if form == "jsonl" else "id\n"
        place.write_text(head + "".join(line.format(n) for n in range(3500)))
    (answer,) = read(at(place, form))
    assert not isinstance(answer, ReadFailed), answer.reason
    assert isinstance(answer["t"], StoredRows)
    assert [int(str(row["id"])) for row in answer["t"]] == list(range(3500))


def test_many_records_are_read_at_once(place: Path) -> None:
    """Answers stand in order, a failing one leaves the others alone, and no file stays open."""
    paths = []
    for number in range(12):
        file = place.with_name(f"{number}.csv")
        file.write_text(f"id\n{number}\n")
        paths.append(at(file, "csv"))
    paths[5] = at(place, "csv")
    before = len(list(Path("/proc/self/fd").iterdir()))
    answers = read(*paths)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert [answers[n] for n in (0, 4, 6, 11)] == [{"t": [{"id": str(n)}]} for n in (0, 4, 6, 11)]
    assert isinstance(answers[5], ReadFailed)


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({}, "tables of a read path"),
        ({"tables": {}}, "tables of a read path"),
        ({"table": {}}, "has no 'table'"),
        ({"tables": {"t": {"path": "/x"}}}, "needs path and format"),
        ({"tables": {"t": {"path": "/x", "format": "json", "glob": 1}}}, "needs path and format"),
        ({"tables": {"t": {"path": "x", "format": "json"}}}, "no absolute path"),
        ({"tables": {"t": {"path": "/x", "format": "xml"}}}, "no format is called 'xml'; there are json, jsonl"),
        ({"tables": {"t": {"path": "/x", "format": "json"}}, "missing": "ok"}, "can only be"),
    ],
)
def test_a_path_of_a_wrong_shape_is_a_reason(where: Any, why: str) -> None:
    """A read path is refused where it says something that nobody would look at."""
    assert why in reason(ReadPath("file", True, where))


def test_the_time_of_a_reading_is_bounded(place: Path) -> None:
    """A file that takes too long is no reading."""
    place.write_text('{"a":1}\n' * 2000)

    async def main() -> Sequence[Tables | ReadFailed]:
        return await module.FileChannel(ChannelContext(_fetch, SystemClock(), {}), reading_s=0).read(
            [at(place, "jsonl")]
        )

    assert anyio.run(main) == [ReadFailed("the record was not read within 0 s")]
