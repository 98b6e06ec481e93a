"""How long PostgreSQL takes to start, to lend and take back a database, to be read, and to carry the ladder.

    python -m benchmarks.records_postgres [server] [pool] [reading] [ladder]

Goals on two cores: a server that is ready in 3 s, a reading of a record of 1,000 rows in 40 ms (median), and 20 trials
a second or more of the ladder's arm ``screen``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio

from benchmarks.harness import machine, measure
from benchmarks.records import NOTE, READINGS, RECORD_ROWS, context, read
from oracle.channels.sql import SqlChannel
from providers.postgres import EmbeddedServer, Login, PoolSettings, ServerSettings, open_pool, start_server
from providers.postgres.databases import connect
from providers.records import desk
from providers.records.postgres import PostgresPlace, PostgresStorage
from providers.records.storage import Template
from spec.clock import SystemClock
from spec.reading import ReadPath

STARTS: Final = 5
TRIALS: Final = 200
LADDER_TRIALS: Final = 40  # of each of 10 tasks
DATABASES: Final = 32

_TABLE: Final = "CREATE TABLE encounters (id int PRIMARY KEY, patient text, note text, amount numeric, at text)"
_ROWS: Final = """
INSERT INTO encounters SELECT n, 'p' || n %% 977, %s || ' ' || n, n * 0.25, '2026-01-31 12:00:00'
FROM generate_series(1, %s) n
"""


async def timed(times: list[float], work: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever the work answers
    """What work answers; how long it took goes to ``times``, in seconds."""
    start = time.perf_counter()
    answer = await work
    times.append(time.perf_counter() - start)
    return answer


def told(times: list[float]) -> str:
    """Median and slowest."""
    return f"median {statistics.median(times) * 1e3:.1f} ms, slowest {max(times) * 1e3:.1f} ms"


async def server() -> str:
    """From nothing to a server that answers, and back."""
    starts: list[float] = []
    stops: list[float] = []
    for _ in range(STARTS):
        started: EmbeddedServer = await timed(starts, start_server(ServerSettings(), SystemClock()))
        await timed(stops, started.stop())
    return f"start of a server: {told(starts)}; end: {told(stops)}"


async def pool() -> str:
    """A record's database, lent with its rows written and taken back."""
    storage = PostgresStorage(PostgresPlace(), SystemClock())
    template = Template({"patients": desk.LADDER_PATIENTS, "encounters": (desk.CONSULT,)})
    await storage.release(await storage.open(template))
    lent: list[float] = []
    back: list[float] = []
    for _ in range(TRIALS):
        stored = await timed(lent, storage.open(template))
        await timed(back, storage.release(stored))
    await storage.close()
    return f"a database lent: {told(lent)}; taken back: {told(back)}"


async def _thousand_rows(login: Login, database: str) -> None:
    async with await connect(login, database) as connection:
        await connection.execute(_TABLE)
        await connection.execute(_ROWS, [NOTE, RECORD_ROWS])


async def reading() -> str:
    """A whole reading by the oracle's role, through its channel."""
    started = await start_server(ServerSettings(), SystemClock())
    lender = await open_pool(started.logins, _thousand_rows, PoolSettings(), SystemClock())
    oracle = started.logins.oracle
    where = {"url": oracle.url(await lender.take()), "password_file": str(oracle.password_file)}
    channel, path, times = SqlChannel(context()), ReadPath("sql", False, where), list[float]()
    assert len((await read(channel, path))["encounters"]) == RECORD_ROWS
    for _ in range(READINGS):
        await timed(times, read(channel, path))
    await channel.close()
    await lender.close()
    await started.stop()
    return f"a record of {RECORD_ROWS} rows, {READINGS} readings: {told(times)}"


def ladder_config(arm: str, **engine: object) -> Mapping[str, Any]:
    """The ladder on PostgreSQL with one arm."""
    options = {"storage": "postgres", "databases": DATABASES}
    return {
        "format": 1,
        "run": {"name": "bench", "trials": LADDER_TRIALS},
        "provider": {"use": "records", "pack": "ladder", "options": options},
        "engine": engine,
        "arms": [{"name": arm, "use": arm}],
    }


def ladder() -> str:
    """Trials a second, with the servers' start in them: it is within the first trials."""
    found = measure(ladder_config("screen", kind="ray", workers=2, in_flight=DATABASES // 2))
    return f"ladder, arm screen, Ray with 2 workers: {found.trials} trials, {found.per_s:.1f} trials/s"


FIGURES: Final[Mapping[str, Callable[[], str]]] = {
    "server": partial(anyio.run, server),
    "pool": partial(anyio.run, pool),
    "reading": partial(anyio.run, reading),
    "ladder": ladder,
}


def main() -> None:
    """Print a line a figure."""
    for name in sys.argv[1:] or FIGURES:
        print(FIGURES[name](), flush=True)
    print(machine())


if __name__ == "__main__":
    main()
