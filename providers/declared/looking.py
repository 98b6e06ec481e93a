"""``check = true``: one record is opened when a run is planned, and looked at for what the contracts speak of.

It is opened as in a trial, in a thread and a loop of its own, within ``CHECK_DEADLINE_S``, and closed again. Tables and
columns of a database are compared with the contracts; of any other record it is only seen that it can be made.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Final

import anyio

from providers.declared.fixture import open_fixture
from providers.declared.loading import Loaded
from providers.declared.model import Declaration, EffectTable
from providers.declared.params import draw, trial_seed
from providers.declared.reading import Problem
from providers.declared.shared import open_shared
from spec.canonical import Json
from spec.errors import ConfigError, ConfigErrors, ProviderFault
from spec.text import describe, nearest
from spec.toml_lines import Place

CHECK_DEADLINE_S: Final = 60.0

Columns = Mapping[str, frozenset[str]]

_POSTGRES_COLUMNS: Final = """
SELECT table_schema, table_name, column_name FROM information_schema.columns
WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
"""


def look(loaded: Loaded) -> None:
    """Open the record of the first task's first trial, and look at it.

    Raises:
        ConfigErrors: it cannot be opened or closed, or something is not there.
    """
    failures: list[BaseException] = []

    def work() -> None:
        try:
            anyio.run(_look, loaded)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            failures.append(error)

    thread = threading.Thread(target=work, name="declared-check")
    thread.start()
    thread.join()
    for failure in failures:
        raise _told(failure, loaded)


def _told(failure: BaseException, loaded: Loaded) -> BaseException:
    if isinstance(failure, ConfigError):
        if failure.file:
            return ConfigErrors([failure])
        return loaded.source.errors([Problem(("reset", "sql"), failure.message, failure.hint)])
    if isinstance(failure, TimeoutError):
        message = f"no record could be opened and closed within {CHECK_DEADLINE_S:g} s"
        return loaded.source.errors([Problem(("reset",), message)])
    if isinstance(failure, ProviderFault):
        return loaded.source.errors([Problem(("reset",), f"no record could be opened: {failure}")])
    return failure


async def _look(loaded: Loaded) -> None:
    declaration, table = loaded.declaration, loaded.declaration.tasks[0]
    if declaration.reset.sql is not None and declaration.reset.sql.dsn_env is not None:
        from providers.declared.reset.postgres import check_existing

        check_existing(declaration.reset.sql)
    seed = trial_seed(0, table.id, 0)
    drawn = draw({**declaration.params, **declaration.wiring, **table.params, **table.wiring}, seed)
    with anyio.fail_after(CHECK_DEADLINE_S):
        shared = await open_shared(loaded)
        try:
            fixture = await open_fixture(shared, table, drawn)
            columns = _columns(declaration, fixture.values)
            await fixture.close()
        finally:
            with anyio.CancelScope(shield=True):
                await shared.close()
    problems = [] if columns is None else list(record_problems(declaration, columns))
    if problems:
        raise loaded.source.errors(problems)


def _columns(declaration: Declaration, values: Mapping[str, Json]) -> Columns | None:
    """The columns of each table, or None where the record is not simply a database that the reset makes."""
    sql, record = declaration.reset.sql, declaration.record
    if sql is None or record.channel != "sql" or "queries" in record.where:
        return None
    if sql.database == "sqlite":
        with closing(sqlite3.connect(str(values["database_path"]))) as file:
            names = [row[0] for row in file.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            return {
                name: frozenset(row[0] for row in file.execute("SELECT name FROM pragma_table_info(?)", (name,)))
                for name in names
            }
    import psycopg

    found: dict[str, set[str]] = {}
    try:
        with psycopg.connect(str(values["database_dsn"])) as server:
            for schema, table, column in server.execute(_POSTGRES_COLUMNS):
                name = table if schema == "public" else f"{schema}.{table}"
                found.setdefault(name, set()).add(column)
    except psycopg.Error as error:
        raise ProviderFault(describe(error, "the tools' role cannot read the record")) from None
    return {name: frozenset(of_table) for name, of_table in found.items()}


def record_problems(declaration: Declaration, columns: Columns) -> Iterator[Problem]:
    """Tables and fields that the declaration names and the record does not have.

    Args:
        declaration: what is declared.
        columns: of every table that there is.
    """
    record = declaration.record
    yield from _missing_table(record.main_table, columns, ("record", "main_table"))
    for table, fields in record.keys.items():
        yield from _missing_table(table, columns, ("record", "keys", table))
        for field in fields:
            yield from _missing_field(table, field, columns, ("record", "keys", table))
    for position, task in enumerate(declaration.tasks):
        for number, effect in enumerate(task.contract):
            place: Place = ("tasks", position, "contract", number)
            table = effect.table or record.main_table
            if effect.table:
                yield from _missing_table(table, columns, (*place, "table"))
            for where, field in _fields(effect):
                yield from _missing_field(table, field, columns, (*place, *where))


def _fields(effect: EffectTable) -> Iterator[tuple[Place, str]]:
    for key, names in (("match", effect.match), ("also", effect.also), ("types", effect.types)):
        for name in names:
            yield (key, name), name
    if effect.field is not None:
        yield ("field",), effect.field
    if effect.idempotency_key is not None:
        yield ("key_field",), effect.key_field


def _missing_table(table: str, columns: Columns, place: Place) -> Iterator[Problem]:
    if table not in columns:
        yield Problem(place, f"the record has no table {table!r}", nearest(table, sorted(columns)))


def _missing_field(table: str, field: str, columns: Columns, place: Place) -> Iterator[Problem]:
    if table in columns and field not in columns[table]:
        hint = nearest(field, sorted(columns[table]))
        yield Problem(place, f"the table {table!r} has no field {field!r}", hint)
