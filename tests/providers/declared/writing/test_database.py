"""A database is written by what it says of itself, with its own constraints in force."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from providers.declared.writing.database import DatabaseWriter
from spec.errors import ProviderFault

SCHEMA = """
CREATE TABLE tickets (id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, status TEXT NOT NULL DEFAULT 'open',
                      note TEXT);
CREATE TABLE billing (id INTEGER PRIMARY KEY, number INTEGER NOT NULL REFERENCES tickets (number), at TEXT NOT NULL);
INSERT INTO tickets (number) VALUES (7);
"""

Rows = Callable[[str], list[Any]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ticket desk."""
    with closing(sqlite3.connect(tmp_path / "desk.sqlite")) as connection:
        connection.executescript(SCHEMA)
    return tmp_path / "desk.sqlite"


@pytest.fixture
def rows(file: Path) -> Rows:
    """What a query answers."""

    def asked(query: str) -> list[Any]:
        with closing(sqlite3.connect(file)) as connection:
            return connection.execute(query).fetchall()

    return asked


def test_rows_come_change_and_go(file: Path, rows: Rows) -> None:
    """A row that is added, changed and removed stands as asked; unknown columns are left out."""
    writer = DatabaseWriter({"database_path": str(file)})
    assert list(writer.tables()) == ["billing", "tickets"]
    writer.insert("tickets", {"number": 8, "note": "new", "unknown": 1})
    assert writer.update("tickets", {"number": 8}, {"status": "closed", "unknown": 1}) == 1
    assert writer.update("tickets", {"note": None, "status": "nowhere"}, {"note": "lost"}) == 0
    assert rows("SELECT number, status, note FROM tickets ORDER BY number") == [(7, "open", None), (8, "closed", "new")]
    assert writer.delete("tickets", {"note": None}) == 1
    assert rows("SELECT number FROM tickets") == [(8,)]


def test_what_a_row_needs_is_filled_in(file: Path, rows: Rows) -> None:
    """A column that must have a value gets one, one that refers to another table that of a row there."""
    DatabaseWriter({"database_path": str(file)}).insert("billing", {})
    ((number, at),) = rows("SELECT number, at FROM billing")
    assert number == 7
    assert at


def test_what_the_database_refuses_is_told(file: Path) -> None:
    """A constraint, a table and a column that is not there are provider faults; no value of a row is in the text."""
    writer = DatabaseWriter({"database_path": str(file)})
    with pytest.raises(ProviderFault, match=r"^the database refuses it: IntegrityError$"):
        writer.insert("tickets", {"number": 7})
    with pytest.raises(ProviderFault, match="no table"):
        writer.insert("secrets", {})
    with pytest.raises(ProviderFault, match="no column"):
        writer.delete("tickets", {"unknown": 1})
