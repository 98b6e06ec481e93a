"""One pass over ``episodes.jsonl``: from rows to counts, in DuckDB, so that a million rows take seconds.

Nothing leaves this process: no extension is fetched, nothing is spilled to a disk. Amounts are summed as decimals,
because a sum of floats depends on the order of the rows and on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from orchestrator.metrics import PairedTask
from spec.errors import InputError
from spec.outcome import Outcome, SwerVariant
from spec.text import describe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SETTINGS: Final[dict[str, str | bool | int | float | list[str]]] = {
    "memory_limit": "640MB",
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": False,
}

THREADS: Final = 2
THREADED_BYTES_MIN: Final = 256 << 20
"""A smaller file is read by one thread: it takes a second at most, and each thread costs tens of MiB."""

_NAME: Final = "INSERT INTO names SELECT unnest(range(len($names))), unnest($names)"

_LOAD: Final = """
CREATE TEMP TABLE episodes AS
SELECT arm::arm_name AS arm, task_id::task_name AS task, trial, outcome::outcome_name AS outcome,
       swer_variant::variant_name AS variant, agent.reported_success AS reported,
       cost_usd::DECIMAL(38, 12) AS cost_usd, latency_s::DECIMAL(38, 9) AS latency_s,
       coalesce(json_array_length(env_fingerprint.usage_unknown), 0) > 0 AS usage_unknown
FROM read_json(?, format = 'newline_delimited', compression = 'none', columns = {
    arm: 'VARCHAR', task_id: 'VARCHAR', trial: 'UBIGINT', outcome: 'VARCHAR', swer_variant: 'VARCHAR',
    agent: 'STRUCT(reported_success BOOLEAN)', cost_usd: 'DOUBLE', latency_s: 'DOUBLE',
    env_fingerprint: 'STRUCT(usage_unknown JSON)'})
"""

_WHOLE: Final = """
SELECT count(*) FROM episodes WHERE arm IS NULL OR task IS NULL OR trial IS NULL OR outcome IS NULL OR variant IS NULL
    OR reported IS NULL OR cost_usd IS NULL OR latency_s IS NULL
"""

_GROUPS: Final = """
SELECT arm, task, outcome, variant, reported, count(*), sum(cost_usd), sum(latency_s),
       count(*) FILTER (WHERE usage_unknown)
FROM episodes GROUP BY ALL ORDER BY ALL
"""

_PAIRS: Final = """
SELECT a.arm, b.arm, task, count(*),
       count(*) FILTER (WHERE a.outcome = $wrong AND b.outcome <> $wrong),
       count(*) FILTER (WHERE b.outcome = $wrong AND a.outcome <> $wrong)
FROM episodes AS a JOIN episodes AS b USING (task, trial)
WHERE a.arm < b.arm GROUP BY ALL
"""


class Group(NamedTuple):
    """Rows of one arm and task that ended alike.

    Attributes:
        reported_success: what the arm said.
        rows: how many there are.
        cost_usd: known cost, US dollars.
        latency_s: time that the arm ran, seconds.
        usage_unknown: rows whose cost or tokens are not all known.
    """

    arm: str
    task_id: str
    outcome: Outcome
    variant: SwerVariant
    reported_success: bool
    rows: int
    cost_usd: float
    latency_s: float
    usage_unknown: int


ArmPair = tuple[str, str]
Pairs = Mapping[ArmPair, Mapping[str, PairedTask]]
"""Two arms in the configuration's order -> task -> their shared trials; tasks without any are left out."""


class Scan(NamedTuple):
    """What one pass over the rows gives."""

    groups: Sequence[Group]
    pairs: Pairs


def scan_episodes(episodes: Path, arms: Sequence[str], task_ids: Sequence[str], *, paired: bool) -> Scan:
    """Count the rows of a run.

    Args:
        episodes: the rows' file.
        arms: in the configuration's order.
        task_ids: of the plan.
        paired: whether arms are to be compared; costs a join.

    Raises:
        InputError: the file holds something else than rows of this plan.
    """
    import duckdb

    threads = THREADS if episodes.stat().st_size >= THREADED_BYTES_MIN else 1
    with duckdb.connect(":memory:", config={**_SETTINGS, "threads": threads}) as connection:
        _define_names(connection, arms, task_ids)
        try:
            connection.execute(_LOAD, [_literal_path(episodes)])
            whole = connection.execute(_WHOLE).fetchone()
        except (duckdb.DataError, duckdb.InvalidInputException) as error:
            raise InputError(f"{episodes} is not made of rows of this plan: {_first_line(error)}") from None
        if whole is not None and whole[0]:
            raise InputError(f"{episodes} is not made of rows of this plan: in {whole[0]} of them a value is missing")
        groups = [_group(values) for values in connection.execute(_GROUPS).fetchall()]
        return Scan(groups, _pairs(connection) if paired else {})


def _define_names(connection: DuckDBPyConnection, arms: Sequence[str], task_ids: Sequence[str]) -> None:
    """Closed sets of names: a byte or two a row instead of a text, ordered as given."""
    connection.execute("CREATE TEMP TABLE names (place INTEGER, name VARCHAR)")
    for define, names in (
        ("CREATE TYPE arm_name AS ENUM (SELECT name FROM names ORDER BY place)", arms),
        ("CREATE TYPE task_name AS ENUM (SELECT name FROM names ORDER BY place)", task_ids),
        ("CREATE TYPE outcome_name AS ENUM (SELECT name FROM names ORDER BY place)", [*Outcome]),
        ("CREATE TYPE variant_name AS ENUM (SELECT name FROM names ORDER BY place)", [*SwerVariant]),
    ):
        connection.execute("DELETE FROM names")
        connection.execute(_NAME, {"names": [str(name) for name in names]})
        connection.execute(define)


def _first_line(error: Exception) -> str:
    return describe(error).partition(" LINE ")[0]


def _literal_path(path: Path) -> str:
    """The path with the characters quoted that would make it a pattern."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(path))


def _group(values: tuple[Any, ...]) -> Group:
    arm, task, outcome, variant, reported, rows, cost, latency, unknown = values
    label, kind = Outcome(outcome), SwerVariant(variant)
    return Group(arm, task, label, kind, reported, rows, float(cost), float(latency), unknown)


def _pairs(connection: DuckDBPyConnection) -> Pairs:
    found: dict[ArmPair, dict[str, PairedTask]] = {}
    rows = connection.execute(_PAIRS, {"wrong": Outcome.SILENT_WRONG_EFFECT.value}).fetchall()
    for first, second, task, pairs, only_first, only_second in rows:
        found.setdefault((first, second), {})[task] = PairedTask(pairs, only_first, only_second)
    return found
