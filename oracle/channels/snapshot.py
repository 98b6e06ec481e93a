"""Channel ``snapshot``: a record that lives in a worker's memory, read as frozen bytes through the worker.

A read path says ``{"worker": <id>, "fixture": <handle>}``. One fetch a worker brings all its fixtures as one JSON
object::

    {"<handle>": {"tables": {"<table>": [{"<field>": <value>, ...}, ...], ...}}, "<handle>": {"error": "<why>"}, ...}

The oracle gets bytes and never an object of the fixture. Whatever is not clean (an answer that is missing, has another
shape, or a fetch that failed) is a ``ReadFailed`` for exactly the paths that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import anyio
import orjson

from oracle.base import ChannelContext, ReadFailed
from spec.reading import ChannelName, ReadPath, Tables
from spec.text import describe

REASON_CHARS_MAX: Final = 200

Readings = dict[int, Tables | ReadFailed]


class SnapshotChannel:
    """Reads in-memory records (``oracle.base.Channel``).

    Args:
        context: its ``fetch`` is how a worker is asked; never called twice at once for one worker within a ``read``.
    """

    name: str = ChannelName.SNAPSHOT.value
    batches: bool = True

    def __init__(self, context: ChannelContext) -> None:
        self._fetch = context.fetch

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        """Read several records once each, one fetch a worker and the workers at once; answers in order."""
        places = [_place(path) for path in paths]
        wanted: dict[str, dict[int, None]] = {}
        for place in places:
            if place is not None:
                wanted.setdefault(place[0], {})[place[1]] = None
        readings = await self._read_workers(wanted)
        return [
            ReadFailed("the read path names no worker and fixture") if place is None else readings[place[0]][place[1]]
            for place in places
        ]

    async def close(self) -> None:
        """Nothing is held open."""

    async def _read_workers(self, wanted: dict[str, dict[int, None]]) -> dict[str, Readings]:
        readings: dict[str, Readings] = {}

        async def read_one(worker: str) -> None:
            readings[worker] = await self._read_worker(worker, list(wanted[worker]))

        if len(wanted) == 1:
            await read_one(*wanted)
        elif wanted:
            async with anyio.create_task_group() as tasks:
                for worker in wanted:
                    tasks.start_soon(read_one, worker)
        return readings

    async def _read_worker(self, worker: str, fixtures: Sequence[int]) -> Readings:
        try:
            answer = orjson.loads(await self._fetch(worker, fixtures))
        except Exception as error:  # noqa: BLE001 - a record that cannot be read is a value, whatever the reason
            return _all_failed(fixtures, describe(error, f"worker {worker}"))
        if type(answer) is not dict:
            return _all_failed(fixtures, f"worker {worker} answered with no object")
        return {fixture: _tables(answer.get(str(fixture))) for fixture in fixtures}


def _place(path: ReadPath) -> tuple[str, int] | None:
    worker, fixture = path.where.get("worker"), path.where.get("fixture")
    if type(worker) is not str or type(fixture) is not int:
        return None
    return worker, fixture


def _all_failed(fixtures: Iterable[int], reason: str) -> Readings:
    failed = ReadFailed(reason[:REASON_CHARS_MAX])
    return dict.fromkeys(fixtures, failed)


def _tables(answer: object) -> Tables | ReadFailed:
    if type(answer) is not dict:
        return ReadFailed("the worker's answer does not have the fixture")
    if "error" in answer:
        return ReadFailed(f"the fixture cannot be read: {answer['error']}"[:REASON_CHARS_MAX])
    tables = answer.get("tables")
    if type(tables) is not dict or not all(type(rows) is list for rows in tables.values()):
        return ReadFailed("the fixture's snapshot is no set of tables")
    readable: Tables = tables
    return readable
