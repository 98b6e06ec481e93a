"""The shelf gives each fixture a place of its own and its record to whoever has the place."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from orchestrator.engine.fixtures import FixtureShelf
from spec.errors import ProviderFault
from spec.reading import ReadPath


class Stand:
    """Looks like a fixture; its record is what it is given."""

    environment = None

    def __init__(self, path: Any, record: Any = b"{}") -> None:
        self.read_path, self._record = path, record

    def snapshot(self) -> bytes:
        if isinstance(self._record, Exception):
            raise self._record
        record: bytes = self._record
        return record

    def seal(self) -> None:
        """Not asked for here."""

    async def close(self) -> None:
        """Not asked for here."""


def put(shelf: FixtureShelf, fixture: Any) -> tuple[int, ReadPath]:
    return shelf.put(fixture)


IN_MEMORY = ReadPath("snapshot", True, {})


def test_a_fixture_in_memory_gets_its_place_into_its_path() -> None:
    """The oracle finds it by the worker's name and the place; what else the provider wrote there is replaced."""
    shelf = FixtureShelf("worker-7")
    place, path = put(shelf, Stand(ReadPath("snapshot", True, {"worker": "another"})))
    assert path == ReadPath("snapshot", True, {"worker": "worker-7", "fixture": place})


def test_a_path_to_elsewhere_is_left_alone() -> None:
    """A file or a database is found by what the provider says."""
    path = ReadPath("sql", False, {"url": "db"})
    assert put(FixtureShelf("worker-7"), Stand(path))[1] == path


def test_a_place_is_never_used_twice() -> None:
    """A late reading of a dropped fixture meets no other fixture."""
    shelf = FixtureShelf("w")
    first, _ = put(shelf, Stand(IN_MEMORY))
    shelf.drop(first)
    shelf.drop(first)
    second, _ = put(shelf, Stand(IN_MEMORY, b'{"t":[]}'))
    assert first != second
    assert orjson.loads(shelf.snapshot([first, second])) == {
        str(first): {"error": "the fixture is gone"},
        str(second): {"tables": {"t": []}},
    }


def test_the_answer_has_one_exact_shape() -> None:
    """One JSON object in the order that was asked for; nothing asked, nothing in it."""
    shelf = FixtureShelf("w")
    put(shelf, Stand(IN_MEMORY, b'{"t":[{"id":1}]}'))
    put(shelf, Stand(IN_MEMORY, OSError("gone")))
    assert shelf.snapshot([2, 1]) == b'{"2":{"error":"OSError: gone"},"1":{"tables":{"t":[{"id":1}]}}}'
    assert shelf.snapshot([]) == b"{}"


def test_all_problems_are_named_at_once() -> None:
    """What is no fixture is refused with everything that it lacks, and takes no place."""
    shelf = FixtureShelf("w")
    with pytest.raises(ProviderFault) as caught:
        put(shelf, object())
    assert all(name in str(caught.value) for name in ("environment", "read_path", "seal", "close"))
    with pytest.raises(ProviderFault, match="tuple and no ReadPath"):
        put(shelf, Stand(("snapshot", True, {})))
    assert put(shelf, Stand(IN_MEMORY))[0] == 1


def test_a_second_fixture_of_a_class_is_checked_like_the_first() -> None:
    """An instance that lacks a part is refused even after a whole one of its class."""
    shelf = FixtureShelf("w")
    put(shelf, Stand(IN_MEMORY))
    broken = Stand(IN_MEMORY)
    del broken.read_path
    with pytest.raises(ProviderFault, match="read_path"):
        put(shelf, broken)
