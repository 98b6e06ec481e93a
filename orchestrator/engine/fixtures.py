"""The fixtures that stand open in a worker, each at a place of its own that is never used twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from providers.base import Fixture
from spec.errors import ProviderFault
from spec.reading import ChannelName, ReadPath
from spec.text import describe


class FixtureShelf:
    """Holds open fixtures and hands out the records of in-memory ones.

    Args:
        worker_id: stands in the read path of an in-memory fixture, so that the oracle asks the right worker.
    """

    def __init__(self, worker_id: str) -> None:
        self._worker_id = worker_id
        self._fixtures: dict[int, Fixture] = {}
        self._last_place = 0

    def put(self, fixture: Fixture) -> tuple[int, ReadPath]:
        """Keep a fixture; its place and its read path, completed with the place where it is in memory.

        Raises:
            ProviderFault: it is not a fixture; every problem is named.
        """
        path = _checked_path(fixture)
        self._last_place += 1
        self._fixtures[self._last_place] = fixture
        if path.channel == ChannelName.SNAPSHOT:
            path = ReadPath(path.channel, path.final, {"worker": self._worker_id, "fixture": self._last_place})
        return self._last_place, path

    def drop(self, place: int) -> None:
        """Forget the fixture at a place."""
        self._fixtures.pop(place, None)

    def snapshot(self, places: Sequence[int]) -> bytes:
        """``{"<place>": {"tables": record} or {"error": text}}`` for all places, as JSON."""
        return b"{" + b",".join(b'"%d":%b' % (place, self._record(place)) for place in places) + b"}"

    def _record(self, place: int) -> bytes:
        fixture = self._fixtures.get(place)
        if fixture is None:
            return orjson.dumps({"error": "the fixture is gone"})
        try:
            return b'{"tables":%b}' % fixture.snapshot()
        except BaseException as error:  # noqa: BLE001 - a record that cannot be read is a value for the oracle
            return orjson.dumps({"error": describe(error)})


_PARTS: Final = ("environment", "read_path", "seal", "close")


def _checked_path(fixture: Fixture) -> ReadPath:
    """The fixture's read path, if the fixture is one at all.

    Raises:
        ProviderFault: with every problem found.
    """
    problems = [f"it has no {name}" for name in _PARTS if not hasattr(fixture, name)]
    path: object = getattr(fixture, "read_path", None)
    if type(path) is ReadPath:
        if path.channel == ChannelName.SNAPSHOT and not hasattr(fixture, "snapshot"):
            problems.append("it has no snapshot, which its channel asks for")
        if not problems:
            return path
    elif hasattr(fixture, "read_path"):
        problems.append(f"its read_path is a {type(path).__name__} and no ReadPath")
    raise ProviderFault(f"a {type(fixture).__name__} is no fixture: {'; '.join(problems)}")
