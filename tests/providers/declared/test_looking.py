"""With ``check = true`` one record is opened before a run, and what it lacks is told by the key that asks for it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from spec.errors import ConfigErrors
from tests.providers.declared.conftest import Declare, contract


def problems(written: dict[str, Any], declare: Declare, **files: str) -> dict[str, str]:
    before = set(Path(tempfile.gettempdir()).glob("topg-declared-*"))
    with pytest.raises(ConfigErrors) as caught:
        declare(written | {"check": True}, **files).check()
    assert set(Path(tempfile.gettempdir()).glob("topg-declared-*")) <= before
    return {error.key or error.file: str(error) for error in caught.value.errors}


def test_a_record_that_has_everything_is_content(written: dict[str, Any], declare: Declare) -> None:
    """Nothing is told, and nothing is looked at where no check is asked for."""
    declare(written | {"check": True}).check()
    written["tasks"][0]["contract"][0]["field"] = "stat"
    declare(written).check()


def test_missing_tables_and_fields_are_told(written: dict[str, Any], declare: Declare) -> None:
    """Each with its place and the nearest name."""
    written["tasks"][0]["contract"] = [contract(field="stats"), contract(table="tikets")]
    written["record"]["keys"] = {"tickets": ["numbr"]}
    found = problems(written, declare)
    assert "has no field 'stats' (did you mean 'status'?)" in found["tasks[0].contract[0].field"]
    assert "has no table 'tikets' (did you mean 'tickets'?)" in found["tasks[0].contract[1].table"]
    assert "has no field 'numbr'" in found["record.keys.tickets"]


def test_a_seed_that_fails_is_told_by_its_line(written: dict[str, Any], declare: Declare) -> None:
    """As the database says it."""
    found = problems(written, declare, seed_sql="\n\nINSERT INTO missing VALUES (:number);")
    assert any("seed.sql:3: the database refuses" in text for text in found.values())


def test_a_record_that_cannot_be_made_is_told(written: dict[str, Any], declare: Declare) -> None:
    """A program that fails, with its complaint."""
    written["reset"]["command"] = {"argv": ["{python}", "-c", "raise SystemExit('no room')"]}
    found = problems(written, declare)
    assert "the reset's command ended with 1: no room" in found["reset"]


def test_a_server_that_is_not_there_is_told(
    written: dict[str, Any], declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its address, and never by its password."""
    monkeypatch.setenv("DESK_DSN", "postgresql://me:s3cret@127.0.0.1:9/postgres")
    written["reset"]["sql"] = {
        "database": "postgres",
        "template": ["schema.sql"],
        "dsn_env": "DESK_DSN",
        "oracle_role": "reader",
    }
    written["tools"]["command"][0]["env"] = {"DB": "{database_dsn}", "FAULT": "{fault}"}
    found = problems(written, declare)
    assert "127.0.0.1:9 cannot be used" in found["reset.sql"]
    assert "s3cret" not in found["reset.sql"]


def test_a_database_of_postgresql_is_looked_at_as_well(written: dict[str, Any], declare: Declare) -> None:
    """As the role of the tools, on a server that is started for the check and gone after it."""
    schema = "CREATE TABLE tickets (id serial PRIMARY KEY, number integer, status text, note text);"
    written["reset"]["sql"]["database"] = "postgres"
    written["tools"]["command"][0]["env"] = {"DB": "{database_dsn}", "FAULT": "{fault}"}
    written["record"]["where"]["password_file"] = "{database_password_file}"
    declare(written | {"check": True}, schema_sql=schema).check()
    written["tasks"][0]["contract"] = [contract(also={"noet": "{note}"})]
    found = problems(written, declare, schema_sql=schema)
    assert "has no field 'noet' (did you mean 'note'?)" in found["tasks[0].contract[0].also.noet"]
