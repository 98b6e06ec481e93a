"""Channel ``snapshot``: one fetch a worker, and whatever is not clean fails for its own paths only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import orjson
import pytest

from oracle.base import Channel, ChannelContext, Fetch, ReadFailed
from oracle.channels import SnapshotChannel
from oracle.channels.snapshot import REASON_CHARS_MAX
from spec.canonical import Json
from spec.clock import SystemClock
from spec.reading import ReadPath, Tables


def path(worker: Json, fixture: Json) -> ReadPath:
    return ReadPath("snapshot", True, {"worker": worker, "fixture": fixture})


def tables_of(worker: str, fixture: int) -> Tables:
    return {"notes": [{"id": fixture, "worker": worker}]}


def context(fetch: Fetch) -> ChannelContext:
    return ChannelContext(fetch, SystemClock(), {})


class Workers:
    """Workers that answer as told, and remember what they were asked."""

    def __init__(self, answer: Callable[[str, Sequence[int]], bytes] | None = None) -> None:
        self.asked: list[tuple[str, list[int]]] = []
        self._answer = answer

    async def fetch(self, worker: str, fixtures: Sequence[int]) -> bytes:
        self.asked.append((worker, list(fixtures)))
        await anyio.lowlevel.checkpoint()
        if self._answer is not None:
            return self._answer(worker, fixtures)
        return orjson.dumps({str(fixture): {"tables": tables_of(worker, fixture)} for fixture in fixtures})


def read(workers: Workers, *paths: ReadPath) -> Sequence[Tables | ReadFailed]:
    channel: Channel = SnapshotChannel(context(workers.fetch))
    return anyio.run(channel.read, paths)


def test_answers_stand_in_the_order_of_the_paths() -> None:
    """Grouping by worker does not mix up whose record is whose."""
    paths = [path("w1", 3), path("w2", 1), path("w1", 2)]
    assert read(Workers(), *paths) == [tables_of("w1", 3), tables_of("w2", 1), tables_of("w1", 2)]


def test_each_worker_is_asked_once() -> None:
    """All fixtures of a worker come in one fetch, each once, however many paths name it."""
    workers = Workers()
    answers = read(workers, path("w1", 1), path("w2", 5), path("w1", 2), path("w1", 1))
    assert sorted(workers.asked) == [("w1", [1, 2]), ("w2", [5])]
    assert answers[0] == answers[3] == tables_of("w1", 1)


def test_workers_are_read_at_the_same_time() -> None:
    """A worker that waits for another one's fetch to begin is not waited for in vain."""

    async def main() -> Sequence[Tables | ReadFailed]:
        begun = {"w1": anyio.Event(), "w2": anyio.Event()}

        async def fetch(worker: str, fixtures: Sequence[int]) -> bytes:
            begun[worker].set()
            await begun["w2" if worker == "w1" else "w1"].wait()
            return orjson.dumps({str(fixture): {"tables": {}} for fixture in fixtures})

        with anyio.fail_after(5):
            return await SnapshotChannel(context(fetch)).read([path("w1", 1), path("w2", 1)])

    assert anyio.run(main) == [{}, {}]


def test_nothing_to_read_asks_nobody() -> None:
    """An empty batch is answered at once."""
    workers = Workers()
    assert read(workers) == []
    assert workers.asked == []


def test_a_failing_worker_fails_only_its_own_paths() -> None:
    """The other worker's records are read all the same, and the reason names worker and error."""

    def answer(worker: str, fixtures: Sequence[int]) -> bytes:
        if worker == "w1":
            raise ConnectionError("gone " + "x" * 1000)
        return orjson.dumps({"1": {"tables": {}}})

    lost, whole = read(Workers(answer), path("w1", 1), path("w2", 1))
    assert isinstance(lost, ReadFailed)
    assert lost.reason.startswith("worker w1: ConnectionError: gone")
    assert len(lost.reason) == REASON_CHARS_MAX
    assert whole == {}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "worker w: JSONDecodeError"),
        (b"{", "worker w: JSONDecodeError"),
        (b"[]", "worker w answered with no object"),
        (b"{}", "the worker's answer does not have the fixture"),
        (b'{"1": null}', "the worker's answer does not have the fixture"),
        (b'{"1": {"error": "closed"}}', "the fixture cannot be read: closed"),
        (b'{"1": {}}', "the fixture's snapshot is no set of tables"),
        (b'{"1": {"tables": []}}', "the fixture's snapshot is no set of tables"),
        (b'{"1": {"tables": {"notes": {}}}}', "the fixture's snapshot is no set of tables"),
        (b'{"1": {"tables": {"notes": [{"a": NaN}]}}}', "worker w: JSONDecodeError"),
    ],
)
def test_an_answer_of_another_shape_is_a_failed_reading(answer: bytes, reason: str) -> None:
    """Nothing is guessed from half an answer, and nothing is raised."""
    (failed,) = read(Workers(lambda worker, fixtures: answer), path("w", 1))
    assert isinstance(failed, ReadFailed)
    assert failed.reason.startswith(reason)


def test_one_bad_fixture_leaves_its_neighbours_readable() -> None:
    """An error of a fixture is that fixture's."""
    bad, good = read(
        Workers(lambda worker, fixtures: b'{"1": {"error": "closed"}, "2": {"tables": {"notes": []}}}'),
        path("w", 1),
        path("w", 2),
    )
    assert bad == ReadFailed("the fixture cannot be read: closed")
    assert good == {"notes": []}


@pytest.mark.parametrize(("worker", "fixture"), [(None, 1), (1, 1), ("w", None), ("w", "1"), ("w", True)])
def test_a_path_that_names_no_place_is_a_failed_reading(worker: Json, fixture: Json) -> None:
    """Nobody is asked for it."""
    workers = Workers()
    assert read(workers, path(worker, fixture)) == [ReadFailed("the read path names no worker and fixture")]
    assert workers.asked == []


def test_closing_can_be_repeated() -> None:
    """The channel holds nothing open."""
    channel = SnapshotChannel(context(Workers().fetch))
    for _ in range(2):
        anyio.run(channel.close)
    assert (channel.name, channel.batches) == ("snapshot", True)
