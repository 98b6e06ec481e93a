"""A desk that is declared: tickets in SQLite, one program as a tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from providers.declared import Declared

Declare = Callable[..., Declared]

SCHEMA = """-- what every trial begins with
CREATE TABLE tickets (id INTEGER PRIMARY KEY, number INTEGER UNIQUE, status TEXT, note TEXT);
INSERT INTO tickets (number, status) VALUES (1, 'open; really');
"""
SEED = "INSERT INTO tickets (number, status) VALUES (:number, 'open');\n"
PROGRAM = """
import json, os, sqlite3, sys
asked = json.load(sys.stdin)
record = sqlite3.connect(os.environ["DB"])
note = None if os.environ["FAULT"] == "note" else asked["note"]
done = record.execute("UPDATE tickets SET status = 'closed', note = ? WHERE number = ?", (note, asked["number"]))
record.commit()
print(json.dumps({"message": "closed" if done.rowcount else "no such ticket"}))
sys.exit(0 if done.rowcount else 3)
"""


def contract(**more: Any) -> dict[str, Any]:
    return {
        "kind": "field_equals",
        "match": {"number": "{number}"},
        "types": {"number": "int"},
        "field": "status",
        "value": "closed",
        "also": {"note": "{note}"},
        "timeout_s": 0.0,
        **more,
    }


def task(name: str, fault: str = "", **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": "Close a ticket",
        "goal": "Close ticket {number} with the note: {note}",
        "correct_action_available": not fault,
        "wiring": {"fault": fault},
        "contract": [contract()],
        **more,
    }


def declaration() -> dict[str, Any]:
    """A declaration as TOML would give it; tests change what they are about."""
    tool = {
        "name": "close_ticket",
        "description": "Close a ticket.",
        "argv": ["{python}", "{here}/desk.py"],
        "env": {"DB": "{database_path}", "FAULT": "{fault}"},
        "parameters": {"number": {"type": "integer"}, "note": {"type": "string"}},
    }
    return {
        "format": 1,
        "name": "test-desk",
        "reset": {"sql": {"database": "sqlite", "template": ["schema.sql"], "scripts": ["seed.sql"]}},
        "tools": {"command": [tool]},
        "action": {
            "tool": "close_ticket",
            "arguments": {"number": "{number}", "note": "{note}"},
            "banner": {"pointer": "/message", "saved": "^closed"},
        },
        "record": {
            "channel": "sql",
            "main_table": "tickets",
            "where": {"url": "{database_url}"},
            "final": True,
        },
        "params": {"number": {"int": [1000, 9999]}, "note": {"text": "called back {unique}"}},
        "tasks": [task("close"), task("lost_note", "note", category="C1_partial_save")],
    }


@pytest.fixture
def written() -> dict[str, Any]:
    """The declaration of the desk, to be changed."""
    return declaration()


@pytest.fixture
def declare(tmp_path: Path) -> Declare:
    """Writes a declaration with its files, and makes the provider of it."""

    def made(document: Mapping[str, Any] | str, *, split: str = "dev", **files: str) -> Declared:
        texts = {"schema.sql": SCHEMA, "seed.sql": SEED, "desk.py": PROGRAM}
        texts |= {name.replace("_", "."): text for name, text in files.items()}
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        text = document if isinstance(document, str) else tomli_w.dumps(document)
        (tmp_path / "desk.toml").write_text(text, encoding="utf-8")
        return Declared(split=split, options={"file": "desk.toml"}, folder=tmp_path)

    return made
