"""A SQLite file for each trial: a template is filled once, copied for a trial, and the trial's own rows are added."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from providers.declared.reset.scripts import Script, bound
from spec.canonical import Json

FILE: Final = "record.sqlite"
_BUSY_S: Final = 10.0


class SqliteRecords:
    """Makes databases; every method blocks and belongs into a thread.

    Args:
        folder: the process's own, for the template.
        template: scripts that every trial has in common.
        scripts: those with parameters of a trial.
    """

    def __init__(self, folder: Path, template: Sequence[Script], scripts: Sequence[Script]) -> None:
        self._template, self._scripts = template, scripts
        self._file = folder / "template.sqlite"

    def prepare(self) -> None:
        """Fill the template.

        Raises:
            ConfigError: a statement fails; its file and line are named.
        """
        self._file.unlink(missing_ok=True)
        _run(self._file, self._template, {})

    def make(self, folder: Path, values: Mapping[str, Json]) -> dict[str, Json]:
        """A database in a trial's folder; what it is to be called by.

        Raises:
            ConfigError: a statement fails; its file and line are named.
        """
        file = folder / FILE
        shutil.copyfile(self._file, file)
        _run(file, self._scripts, values)
        return {"database_path": str(file), "database_url": f"sqlite:///{quote(str(file))}"}


def _run(file: Path, scripts: Sequence[Script], values: Mapping[str, Json]) -> None:
    with closing(sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None)) as connection:
        if scripts:
            connection.execute("BEGIN")
        for script in scripts:
            for statement in script.statements:
                try:
                    connection.execute(statement.text, bound(statement, values))
                except (sqlite3.Error, OverflowError) as error:
                    raise script.failure(statement, error) from None
        if connection.in_transaction:
            connection.execute("COMMIT")
