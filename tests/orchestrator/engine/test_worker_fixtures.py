"""Fixtures in a worker: opening, halting and closing, and what a provider can do wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import orjson
import pytest

from spec.messages import Cause, Failed, Finished, Noted, Opened, Returned, WorkerOrders
from spec.reading import ReadPath
from spec.report import AgentReport

MakeBench = Callable[..., Any]


async def writer(task: Any, environment: Any) -> AgentReport:
    await environment.attempt_intended_action()
    return AgentReport(reported_success=True)


async def sleeper(task: Any, environment: Any) -> AgentReport:
    await anyio.sleep(3600)
    return AgentReport(reported_success=True)


def opens(result: object) -> Callable[[], Awaitable[Any]]:
    async def open_it() -> Any:
        if isinstance(result, BaseException):
            raise result
        return result

    return open_it


@pytest.mark.anyio
@pytest.mark.parametrize("error", [RuntimeError("no room"), SystemExit(1), KeyboardInterrupt()], ids=repr)
async def test_a_provider_that_raises_fails_the_attempt(bench: MakeBench, error: BaseException) -> None:
    """It is infrastructure with the provider's own words, and the worker goes on."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.opens = opens(error)
        trial = await desk.open("a")
        (failed,) = desk.about(trial.ordinal)
        assert (type(failed), failed.cause) == (Failed, Cause.PROVIDER)
        assert failed.detail == f"opening a fixture: {type(error).__name__}{f': {error}' if str(error) else ''}"
        desk.provider.opens = None
        assert isinstance(await desk.play("a"), Finished)


@pytest.mark.anyio
async def test_a_provider_cannot_pretend_that_the_worker_was_cancelled(bench: MakeBench) -> None:
    """A cancellation of its own making fails the attempt and ends no task of the worker."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.opens = opens(anyio.get_cancelled_exc_class()("mine"))
        for _ in range(3):
            trial = await desk.open("a")
            assert [event.cause for event in desk.about(trial.ordinal)] == [Cause.PROVIDER]
        desk.provider.opens = None
        assert isinstance(await desk.play("a"), Finished)


@pytest.mark.anyio
async def test_a_fixture_that_does_not_open_in_time_fails_the_attempt(bench: MakeBench) -> None:
    """It is told once, after open_s, and holds nobody up."""
    desk = bench({"a": writer}, open_s=20)
    async with desk.serving():
        desk.provider.opens = anyio.sleep_forever
        slow = await desk.open("a")
        desk.provider.opens = None
        assert isinstance(await desk.play("a"), Finished)
        await anyio.sleep(19)
        assert desk.about(slow.ordinal) == []
        await anyio.sleep(100)
        (failed,) = desk.about(slow.ordinal)
        assert (failed.cause, failed.detail) == (Cause.PROVIDER, "a fixture did not open within 20 s")


@pytest.mark.anyio
async def test_what_is_no_fixture_is_described(bench: MakeBench) -> None:
    """Every problem of what the provider gave is named at once."""

    class Half:
        environment = None
        read_path = "somewhere"

    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.opens = opens(object())
        missing = desk.about((await desk.open("a")).ordinal)[0].detail
        assert all(name in missing for name in ("environment", "read_path", "seal", "close"))
        desk.provider.opens = opens(Half())
        half = desk.about((await desk.open("a")).ordinal)[0].detail
        assert all(name in half for name in ("seal", "close", "ReadPath"))
        assert "environment" not in half


@pytest.mark.anyio
@pytest.mark.parametrize("error", [RuntimeError("stuck"), SystemExit("stuck")])
async def test_a_seal_that_fails_is_the_providers_fault(bench: MakeBench, error: BaseException) -> None:
    """Nobody knows then what still reaches the record, so the attempt counts for nothing, and the worker goes on."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.seal_error = error
        failed = await desk.play("a")
        assert (type(failed), failed.cause) == (Failed, Cause.PROVIDER)
        assert failed.detail == f"sealing the environment: {type(error).__name__}: stuck"


@pytest.mark.anyio
async def test_an_unknown_task_fails_the_attempt(bench: MakeBench) -> None:
    """A worker whose provider does not have the task says so and goes on."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.worker.post(WorkerOrders(lease=[desk.trial("a")._replace(task_id="absent")]))
        await desk.settled()
        assert "KeyError: 'absent'" in desk.events[0].detail


@pytest.mark.anyio
async def test_permits_bound_the_arms_and_not_the_fixtures(bench: MakeBench) -> None:
    """Fixtures open ahead; no more arms run than their permits say, and more permits start more."""
    desk = bench({"a": sleeper})
    async with desk.serving():
        trials = [await desk.open("a") for _ in range(5)]
        assert len(desk.provider.opened) == 5
        desk.worker.post(WorkerOrders(permits={"a": 2}, go=[trial.ordinal for trial in trials]))
        await desk.settled()
        assert desk.worker._lanes._running == {"a": 2}
        desk.worker.post(WorkerOrders(permits={"a": 4}))
        await desk.settled()
        assert desk.worker._lanes._running == {"a": 4}


@pytest.mark.anyio
async def test_a_halt_hands_back_what_has_not_started(bench: MakeBench) -> None:
    """What runs may end; what waits for its permit, what comes later and what is told to go comes back."""
    desk = bench({"a": sleeper}, deadline_s=100)
    async with desk.serving():
        running, waiting, unread = [await desk.open("a") for _ in range(3)]
        desk.worker.post(WorkerOrders(permits={"a": 1}, go=[running.ordinal, waiting.ordinal]))
        await desk.settled()
        late = desk.trial("a")
        desk.worker.post(WorkerOrders(halt=True))
        desk.worker.post(WorkerOrders(lease=[late], go=[unread.ordinal]))
        await desk.settled()
        returned = [event.ordinal for event in desk.events if isinstance(event, Returned)]
        assert returned == [waiting.ordinal, late.ordinal, unread.ordinal]
        await anyio.sleep(200)
        assert isinstance(desk.about(running.ordinal)[-1], Finished)


@pytest.mark.anyio
async def test_a_trial_that_is_let_go_while_it_opens_leaves_nothing_open(bench: MakeBench) -> None:
    """Its fixture is closed as soon as it stands, and nothing is told of it."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.open_s = 5
        trial = await desk.open("a")
        desk.worker.post(WorkerOrders(halt=True, close=[trial.ordinal]))
        await anyio.sleep(6)
        assert [fixture.closed for fixture in desk.provider.opened] == [True]
        assert not any(isinstance(event, Opened) for event in desk.events)


@pytest.mark.anyio
async def test_the_next_attempt_may_come_with_the_end_of_the_last_one(bench: MakeBench) -> None:
    """Where one batch closes an attempt and leases the next, the old fixture is closed and the new one stands."""
    desk = bench({"a": writer})
    async with desk.serving():
        trial = await desk.open("a")
        desk.worker.post(WorkerOrders(lease=[trial._replace(attempt=2)], close=[trial.ordinal]))
        await desk.settled()
        assert [fixture.closed for fixture in desk.provider.opened] == [True, False]
        desk.worker.post(WorkerOrders(go=[trial.ordinal]))
        await desk.settled()
        assert [(type(event), event.attempt) for event in desk.events] == [(Opened, 1), (Opened, 2), (Finished, 2)]


@pytest.mark.anyio
@pytest.mark.parametrize("error", [RuntimeError("busy"), SystemExit(1)], ids=repr)
async def test_a_fixture_that_does_not_close_is_only_noted(bench: MakeBench, error: BaseException) -> None:
    """The trial is scored by then; its key and the reason are told."""
    desk = bench({"a": writer})
    async with desk.serving():
        desk.provider.close_error = error
        finished = await desk.play("a")
        desk.worker.post(WorkerOrders(close=[finished.ordinal]))
        await desk.settled()
        note = desk.events[-1]
        assert isinstance(note, Noted)
        assert note.text.startswith(f"closing a fixture of a::notes::write::t0: {type(error).__name__}")


@pytest.mark.anyio
async def test_a_fixture_that_hangs_in_closing_is_noted_once(bench: MakeBench) -> None:
    """After close_s the worker gives up on it and says so; others close meanwhile."""
    desk = bench({"a": writer}, close_s=10)
    async with desk.serving():
        desk.provider.close_s = 3600
        stuck = await desk.play("a")
        desk.worker.post(WorkerOrders(close=[stuck.ordinal]))
        await desk.settled()
        desk.provider.close_s = 0
        quick = await desk.play("a")
        desk.worker.post(WorkerOrders(close=[quick.ordinal]))
        await anyio.sleep(50)
        assert [fixture.closed for fixture in desk.provider.opened] == [False, True]
        notes = [event.text for event in desk.events if isinstance(event, Noted)]
        assert notes == ["a fixture of a::notes::write::t0 did not close within 10 s"]


@pytest.mark.anyio
async def test_every_fixture_is_closed_at_the_end(bench: MakeBench) -> None:
    """When the worker is ended, what stands open is closed, whatever its trial is doing."""
    desk = bench({"a": sleeper, "b": writer})
    async with desk.serving():
        await desk.open("a")
        await desk.play("a")
        await desk.play("b")
        assert [fixture.closed for fixture in desk.provider.opened] == [False, False, False]
    assert [fixture.closed for fixture in desk.provider.opened] == [True, True, True]


@pytest.mark.anyio
async def test_a_close_that_is_under_way_at_the_end_is_carried_through(bench: MakeBench) -> None:
    """The last fixtures of a run take their time to close, and get it."""
    desk = bench({"a": writer}, close_s=10)
    async with desk.serving():
        desk.provider.close_s = 5
        for _ in range(3):
            finished = await desk.play("a")
            desk.worker.post(WorkerOrders(close=[finished.ordinal]))
        await desk.open("a")
        await anyio.sleep(1)
        assert not any(fixture.closed for fixture in desk.provider.opened)
    assert [fixture.closed for fixture in desk.provider.opened] == [True] * 4


@pytest.mark.anyio
async def test_a_fixture_may_close_slowly_after_an_idle_arm(bench: MakeBench) -> None:
    """An arm's limit on being idle plays no part in closing."""
    desk = bench({"a": writer}, idle_s=1, close_s=30)
    async with desk.serving():
        desk.provider.close_s = 20
        finished = await desk.play("a")
        await anyio.sleep(10)
        desk.worker.post(WorkerOrders(close=[finished.ordinal]))
        await anyio.sleep(25)
        assert desk.provider.opened[0].closed
        assert not any(isinstance(event, Noted) for event in desk.events)


@pytest.mark.anyio
async def test_a_fixture_that_hangs_at_the_end_keeps_no_other_open(bench: MakeBench) -> None:
    """At the end of a worker all fixtures close together, within close_s."""
    desk = bench({"a": writer}, close_s=10)
    async with desk.serving():
        for _ in range(3):
            await desk.open("a")
        desk.provider.opened[0].close = anyio.sleep_forever
        began = anyio.current_time()
    assert anyio.current_time() - began == pytest.approx(10, abs=0.2)
    assert [fixture.closed for fixture in desk.provider.opened] == [False, True, True]


@pytest.mark.anyio
async def test_the_provider_is_closed_behind_its_fixtures(bench: MakeBench) -> None:
    """At the end of a worker the provider gives back what it holds, once, and cannot make the end fail."""
    desk = bench({"a": writer})
    async with desk.serving():
        await desk.open("a")
        await desk.open("a")
        assert desk.provider.fixtures_at_close == []
    assert desk.provider.fixtures_at_close == [True, True]


@pytest.mark.anyio
async def test_a_fixture_that_fails_behind_its_trials_back_is_closed(bench: MakeBench) -> None:
    """The driver has let go while it opened; what was opened by half is closed all the same."""
    desk = bench({"a": writer})
    closed: list[bool] = []

    class Half:
        """A fixture without its environment."""

        read_path = ReadPath("snapshot", True, {})

        async def close(self) -> None:
            closed.append(True)

    async def slowly() -> Half:
        await anyio.sleep(5)
        return Half()

    desk.provider.opens = slowly
    async with desk.serving():
        trial = await desk.open("a")
        desk.worker.post(WorkerOrders(close=[trial.ordinal]))
        await anyio.sleep(10)
        assert closed == [True]


@pytest.mark.anyio
async def test_an_end_while_arms_run_tells_nothing_of_them(bench: MakeBench) -> None:
    """A worker that is ended reports no outcome for what it broke off."""
    desk = bench({"a": sleeper})
    async with desk.serving():
        await desk.play("a")
    assert [type(event) for event in desk.events] == [Opened]


@pytest.mark.anyio
async def test_records_are_read_by_place(bench: MakeBench) -> None:
    """One answer holds the record of each place; a closed or unknown one is an error of that place alone."""
    desk = bench({"a": writer})
    async with desk.serving():
        first = await desk.play("a")
        await desk.open("a")
        desk.worker.post(WorkerOrders(close=[first.ordinal]))
        await desk.play("a")
        assert orjson.loads(desk.worker.snapshot([1, 2, 3, 77])) == {
            "1": {"error": "the fixture is gone"},
            "2": {"tables": {"notes": []}},
            "3": {"tables": {"notes": [{"id": 0, "text": "x"}]}},
            "77": {"error": "the fixture is gone"},
        }
