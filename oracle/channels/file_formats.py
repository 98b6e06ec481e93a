"""Files as rows: JSON, JSON lines, CSV and Parquet, each strictly, since half a file must never read as a whole one.

CSV knows only text: every value is one, and a field that is empty and not quoted is null. DuckDB reads CSV and Parquet;
it is told the columns, so that it guesses nothing.
"""

from __future__ import annotations

import csv
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Final, TypeVar

import duckdb
import orjson

from oracle.channels.exact_json import parse_json
from oracle.channels.failing import NoReading
from oracle.channels.plain import plain_rows
from oracle.channels.threads import Leash
from spec.reading import Record

JSON_BYTES_MAX: Final = 256 * 2**20
LINE_BYTES_MAX: Final = 16 * 2**20
PART_ROWS: Final = 1000
MEMORY_MIB_MAX: Final = 128

_DUCKDB: Final[dict[str, Any]] = {
    "threads": 1,
    "memory_limit": f"{MEMORY_MIB_MAX}MiB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}

_STRICTLY: Final = (
    "header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', allow_quoted_nulls = false,"
    f" null_padding = false, strict_mode = true, max_line_size = {LINE_BYTES_MAX}, encoding = 'utf-8'"
)
_EXACT: Final = {"FLOAT": "DOUBLE", "TIMESTAMP_NS": "VARCHAR", "INTERVAL": "VARCHAR"}
"""Types of DuckDB and what their text is read as: 0.1 of 32 bits is no 0.1 of 64 bits, nanoseconds would be cut off,
and a month is not thirty days."""

_INEXACT: Final = re.compile(rf'"(?:[^"]|"")*"|\b({"|".join(_EXACT)})\b')
"""Such a type wherever it stands in another one; quoted names are passed over."""

_T = TypeVar("_T")

Parts = Iterator[Sequence[Record]]
Reader = Callable[[BinaryIO, Leash], Parts]


class Formats:
    """The readers by the format's name; they share one DuckDB, which holds no data of its own."""

    def __init__(self) -> None:
        self._duckdb: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()
        self.readers: Mapping[str, Reader] = {
            "json": _json,
            "jsonl": _json_lines,
            "csv": self._csv,
            "parquet": self._parquet,
        }

    def close(self) -> None:
        """Give DuckDB's memory back."""
        if self._duckdb is not None:
            self._duckdb.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._duckdb is None:
                self._duckdb = duckdb.connect(config=_DUCKDB)
                self._duckdb.execute("SET GLOBAL TimeZone = 'UTC'")
            return self._duckdb.cursor()

    def _csv(self, file: BinaryIO, leash: Leash) -> Parts:
        columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in _header(file))
        yield from self._fetched(f"SELECT * FROM read_csv(?, columns = {{{columns}}}, {_STRICTLY})", file, leash)  # noqa: S608 - the names are quoted

    def _parquet(self, file: BinaryIO, leash: Leash) -> Parts:
        with self._cursor() as cursor:
            _duck(lambda: cursor.execute("SELECT * FROM read_parquet(?) LIMIT 0", [_path(file)]))
            columns = [(str(column[0]), str(column[1])) for column in cursor.description or ()]
        casts = ", ".join(cast for name, kind in columns if (cast := _exact(name, kind)))
        wanted = f"* REPLACE ({casts})" if casts else "*"
        yield from self._fetched(f"SELECT {wanted} FROM read_parquet(?)", file, leash)  # noqa: S608 - the names are quoted

    def _fetched(self, statement: str, file: BinaryIO, leash: Leash) -> Parts:
        """The rows that DuckDB finds in the opened file, whatever stands under its name by now."""
        with self._cursor() as cursor:
            _duck(lambda: cursor.execute(statement, [_path(file)]))
            names = [str(column[0]) for column in cursor.description or ()]
            while rows := _duck(lambda: cursor.fetchmany(PART_ROWS)):
                leash.check()
                yield plain_rows(names, rows, {})


def _json(file: BinaryIO, _: Leash) -> Parts:
    """One array of objects, or one object, which is one row."""
    data = file.read(JSON_BYTES_MAX + 1)
    if len(data) > JSON_BYTES_MAX:
        raise NoReading(f"it has more than {JSON_BYTES_MAX} bytes")
    value = _parsed(data.strip(), "it")
    yield [_row(row, number) for number, row in enumerate(value if isinstance(value, list) else [value], 1)]


def _json_lines(file: BinaryIO, leash: Leash) -> Parts:
    """An object a line; empty lines say nothing."""
    part: list[Record] = []
    number = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > LINE_BYTES_MAX:
            raise NoReading(f"line {number} has more than {LINE_BYTES_MAX} bytes")
        what = f"line {number}" if line.endswith(b"\n") else f"half a line: line {number}"
        if text := line.strip():
            part.append(_row(_parsed(text, what), number))
        if len(part) >= PART_ROWS:
            leash.check()
            yield part
            part = []
    yield part


def _parsed(data: bytes, what: str) -> Any:  # noqa: ANN401 - any JSON may stand in a file
    """Exactly what stands there. Where the value writes itself as it was read, nothing was rounded or left out."""
    try:
        value = orjson.loads(data)
        if _compact(orjson.dumps(value)) == _compact(data):
            return value
        return parse_json(data)
    except (ValueError, TypeError) as error:
        raise NoReading(f"{what} is no JSON: {error}") from None


def _compact(data: bytes) -> bytes:
    return data.replace(b": ", b":").replace(b", ", b",")


def _row(value: Any, number: int) -> Record:  # noqa: ANN401 - as above
    if type(value) is not dict:
        raise NoReading(f"row {number} is no object")
    row: Record = value
    return row


def _header(file: BinaryIO) -> Sequence[str]:
    """The columns that the first line of a CSV names; and that its last line is whole."""
    line = file.readline(LINE_BYTES_MAX)
    if not line.endswith(b"\n"):
        raise NoReading("it has no whole line with the names of its columns")
    file.seek(-1, os.SEEK_END)
    if file.read(1) != b"\n":
        raise NoReading("it ends within a line")
    try:
        (names,) = csv.reader([line.decode("utf-8-sig").rstrip("\r\n")], strict=True)
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        raise NoReading(f"its first line names no columns: {error}") from None
    if len({name.lower() for name in names}) < len(names) or not all(names):
        raise NoReading("its first line has a column without a name, or one name twice")
    return names


def _path(file: BinaryIO) -> str:
    return f"/proc/self/fd/{file.fileno()}"


def _exact(name: str, kind: str) -> str:
    """How a column is read whose values DuckDB hands out rounded or widened; "" where it has none."""
    text = _INEXACT.sub(lambda found: "VARCHAR" if found[1] else found[0], kind)
    if text == kind:
        return ""
    column = '"' + name.replace('"', '""') + '"'
    exact = _INEXACT.sub(lambda found: _EXACT[found[1]] if found[1] else found[0], kind)
    return f"CAST(CAST({column} AS {text}) AS {exact}) AS {column}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _duck(ask: Callable[[], _T]) -> _T:
    """What DuckDB answers, or the first line of what it says: behind it stand rows of the file."""
    try:
        return ask()
    except duckdb.Error as error:
        raise NoReading((str(error).strip().splitlines() or [type(error).__name__])[0]) from None
