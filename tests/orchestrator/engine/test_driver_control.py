"""Whoever looks at a run or steers it from outside sees where each trial is, and is obeyed at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from orchestrator.engine import ending
from orchestrator.engine.view import WAITING_TO_REPEAT
from orchestrator.ledger import Standing

MakeStage = Callable[..., Any]
Virtual = Callable[[Callable[[], Awaitable[Any]]], Any]


def steer(scene: Any, *acts: tuple[float, Callable[[Any], None]]) -> Callable[[], Awaitable[float]]:
    """Run the scene, act on its driver at some moments, and give the seconds that it ran in all."""

    async def main() -> float:
        driver = scene.driver()
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(driver.run, scene)
            for at_s, act in acts:
                await anyio.sleep(began + at_s - anyio.current_time())
                act(driver)
        return anyio.current_time() - began

    return main


def leased_after(scene: Any, mark: int) -> int:
    return sum(verb == "lease" for verb, _, _ in scene.log[mark:])


def test_a_paused_run_leases_nothing_and_goes_on_afterwards(stage: MakeStage, virtual: Virtual) -> None:
    """Between pause and unpause nothing goes out, what runs ends, and in the end nothing is owed."""
    scene = stage(trials=60, in_flight=2)
    scene.delay_s = lambda: 1.0
    marks: list[int] = []

    def pause(driver: Any) -> None:
        driver.pause()
        assert driver.look().paused
        marks.append(len(scene.log))

    def unpause(driver: Any) -> None:
        assert leased_after(scene, marks[0]) == 0
        assert scene.ledger.owed() > 0
        marks.append(len(scene.log))
        driver.unpause()
        assert not driver.look().paused

    virtual(steer(scene, (5, pause), (500, unpause)))
    assert leased_after(scene, marks[1]) > 0
    assert scene.ledger.owed() == 0


def test_cancel_ends_every_trial(stage: MakeStage, virtual: Virtual) -> None:
    """What is owed, runs or waits to be repeated becomes cancelled, with its digest; what is scored stays."""
    scene = stage(trials=40, in_flight=4, attempts=100)
    scene.delay_s = lambda: 1.0
    scene.script = lambda ordinal, attempt: {1: "hangs", 2: "open"}.get(ordinal, "good")

    def cancel(driver: Any) -> None:
        scene.draining = True
        driver.cancel()
        driver.cancel()

    took_s = virtual(steer(scene, (7.5, cancel)))
    assert took_s < 12
    line = scene.ledger.conservation()
    assert line["owed"] == 0
    assert line["scored"] > 0
    assert line["scored"] + line["cancelled"] == 40
    cancelled = [entry for entry in scene.lines() if entry["type"] == "cancelled"]
    assert {entry["cause"] for entry in cancelled} == {"stopped"}
    assert all(entry["trial_digest"].startswith("digest ") for entry in cancelled)
    assert scene.ledger.standing(1) is scene.ledger.standing(2) is Standing.CANCELLED
    scene.ledger.check()


@pytest.mark.parametrize("at_s", [1.001, 2.5, 3.5, 3.999])
@pytest.mark.parametrize("way", ["unread", "open", "good", "arm"])
def test_cancel_leaves_nothing_owed(
    stage: MakeStage, virtual: Virtual, monkeypatch: pytest.MonkeyPatch, at_s: float, way: str
) -> None:
    """Whatever fails while the rest is cancelled, and however many commits that takes, each trial ends once."""
    monkeypatch.setattr(ending, "CANCELLED_AT_ONCE", 3)
    scene = stage(trials=20, arms=("a", "b"), in_flight=4, group_commit_s=0.02)
    scene.delay_s = lambda: 1.0
    scene.script = lambda ordinal, attempt: way

    def cancel(driver: Any) -> None:
        scene.draining = True
        driver.cancel()

    virtual(steer(scene, (at_s, cancel)))
    line = scene.ledger.conservation()
    assert line["owed"] == 0
    assert line["cancelled"] > 0
    ends = [entry["key"] for entry in scene.lines() if entry["type"] in ("scored", "cancelled", "unreadable")]
    assert len(ends) == len(set(ends))


def test_what_still_reads_when_the_drain_is_over_is_cancelled(stage: MakeStage, virtual: Virtual) -> None:
    """A reading that takes longer than drain_s holds up no cancel, and leaves nothing owed."""
    scene = stage(trials=6, in_flight=2, drain_s=5.0)
    scene.script = lambda ordinal, attempt: "broods"

    def cancel(driver: Any) -> None:
        scene.draining = True
        driver.cancel()

    assert virtual(steer(scene, (3, cancel))) == pytest.approx(8, abs=0.1)
    assert scene.ledger.conservation()["cancelled"] == 6


@pytest.mark.parametrize("drain_s", [4.0, 20.0])
def test_a_drain_that_has_begun_takes_a_new_limit(stage: MakeStage, virtual: Virtual, drain_s: float) -> None:
    """``drain_s`` set anew counts from the beginning of the drain, to both sides."""
    scene = stage(trials=6, in_flight=2, drain_s=10.0)
    scene.script = lambda ordinal, attempt: "broods"

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()

    took_s = virtual(steer(scene, (3, drain), (5, lambda driver: driver.adjust("run.drain_s", drain_s))))
    assert took_s == pytest.approx(3 + drain_s, abs=0.1)


def test_cancel_after_a_drain_still_cancels(stage: MakeStage, virtual: Virtual) -> None:
    """A drain that was not quick enough for somebody can be made a cancel."""
    scene = stage(trials=20, in_flight=4)
    scene.script = lambda ordinal, attempt: "hangs"

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()

    assert virtual(steer(scene, (2, drain), (4, lambda driver: driver.cancel()))) == pytest.approx(4, abs=0.5)
    assert scene.ledger.conservation()["cancelled"] == 20


def test_after_a_long_pause_nothing_looks_old(stage: MakeStage, virtual: Virtual) -> None:
    """A pause counts as no silence, and no stall is reported for it."""
    scene = stage(trials=40, in_flight=2, stall_report_s=60.0)
    scene.delay_s = lambda: 1.0
    views: list[Any] = []

    def unpause(driver: Any) -> None:
        driver.unpause()
        views.append(driver.look())

    virtual(steer(scene, (5, lambda driver: driver.pause()), (500, unpause)))
    assert views[0].silent_s == 0
    assert scene.notices == []


def test_in_flight_can_be_raised_and_lowered(stage: MakeStage, virtual: Virtual) -> None:
    """The permits of the next moment are those of the new value, for all arms and for one."""
    scene = stage(trials=200, arms=("a", "b"), in_flight=2)
    scene.script = lambda ordinal, attempt: "hangs"

    def permits(driver: Any) -> list[dict[str, int]]:
        return list(driver.leasing.permits())

    def act(driver: Any) -> None:
        assert permits(driver) == [{"a": 1, "b": 1}]
        driver.adjust("engine.in_flight", 10)
        assert permits(driver) == [{"a": 5, "b": 5}]
        driver.adjust("arms.a.in_flight", 3)
        assert permits(driver) == [{"a": 3, "b": 7}]
        driver.adjust("arms.a.in_flight", 0)
        driver.adjust("engine.in_flight", 4)
        assert permits(driver) == [{"a": 2, "b": 2}]
        assert driver.look().in_flight_max == 4
        driver.stop()

    virtual(steer(scene, (3, act)))


@pytest.mark.parametrize(
    ("key", "value", "attribute", "expected"),
    [
        ("run.drain_s", 7, "drain_s", 7),
        ("limits.stall_report_s", 9, "stall_report_s", 9),
        ("limits.heartbeat_s", 4, "heartbeat_s", 4),
        ("limits.group_commit_ms", 250, "group_commit_s", 0.25),
    ],
)
def test_bounds_can_be_set(
    stage: MakeStage, virtual: Virtual, key: str, value: float, attribute: str, expected: float
) -> None:
    """Keys that may change while a run works take effect at their next use; others are refused."""
    scene = stage(trials=4)

    def act(driver: Any) -> None:
        driver.adjust(key, value)
        assert getattr(driver.rules, attribute) == expected
        for other in ("run.seed", "arms.nobody.in_flight"):
            with pytest.raises(KeyError):
                driver.adjust(other, 1)

    scene.script = lambda ordinal, attempt: "hangs"
    virtual(steer(scene, (1, act), (2, lambda driver: driver.stop())))


@pytest.mark.parametrize(
    ("way", "phase", "last_event", "waits_for"),
    [
        ("silent", "opening", "leased", "worker-0 opens its fixture; at most 3600 s"),
        ("waits", "baseline", "Opened", "oracle-0 reads its baseline; at most 3600 s"),
        (
            "hangs",
            "running",
            "Ready",
            "its arm runs in worker-0 or waits for a slot; at most 3600 s once it runs",
        ),
        ("broods", "reading", "Finished", "oracle-0 reads the record and judges; at most about 3600 s"),
        ("open", WAITING_TO_REPEAT, "attempt 1 failed: no fixture", "its next lease, in 0.2 s"),
    ],
)
def test_a_look_says_where_a_trial_is(
    stage: MakeStage, virtual: Virtual, way: str, phase: str, last_event: str, waits_for: str
) -> None:
    """Phase, attempt, age, the last event and what it waits for, whatever it waits for."""
    scene = stage(trials=1)
    scene.script = lambda ordinal, attempt: way
    views: list[Any] = []
    at_s = 0.01 if way == "open" else 10

    def look(driver: Any) -> None:
        views.append(driver.look())
        driver.stop()

    virtual(steer(scene, (at_s, look)))
    (trial,) = views[0].trials
    assert (trial.key, trial.phase, trial.last_event) == ("a::t::t0", phase, last_event)
    assert trial.waits_for == waits_for
    assert trial.attempt == (2 if way == "open" else 1)
    assert trial.age_s == pytest.approx(at_s, abs=0.01)
    assert views[0].silent_s <= at_s
