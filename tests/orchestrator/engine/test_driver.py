"""The driver sends nothing too early, acknowledges nothing that is not durable, and ends every trial exactly once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.trials import BACKOFF_FIRST_S
from orchestrator.ledger import Standing
from spec.errors import JournalUnwritable, RunIncomplete
from spec.messages import Finished, Judged, Noted, Opened, Ready, Unread
from spec.reading import ReadPath

MakeStage = Callable[..., Any]
Virtual = Callable[[Callable[[], Awaitable[Any]]], Any]

TERMINAL: Final = {"scored", "unreadable", "infrastructure", "cancelled"}
WAYS: Final = ("good", "good", "open", "baseline", "arm", "unread")


def leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def expect_one_terminal_line_each(scene: Any) -> None:
    """Every key has exactly one terminal line, and the ledger agrees with the journal."""
    counts = Counter(line["key"] for line in scene.lines() if line["type"] in TERMINAL)
    assert counts == {scene.plan.key(ordinal): 1 for ordinal in range(len(scene.plan))}
    scene.ledger.check()
    assert scene.ledger.owed() == 0


def test_a_trial_takes_its_hops_in_order(stage: MakeStage, virtual: Virtual) -> None:
    """Lease, baseline, go, reading, line on the disk, close and forget; the stage checks each on the way."""
    scene = stage(trials=3)
    virtual(scene.run)
    for ordinal in range(3):
        verbs = [verb for verb, _ in scene.verbs(ordinal)]
        assert verbs[:4] == ["lease", "before", "go", "after"]
        assert set(verbs[4:]) <= {"close", "forget"}
        assert scene.types_of(ordinal) == [("scored", 1)]
    expect_one_terminal_line_each(scene)


def test_what_is_durable_is_let_go(stage: MakeStage, virtual: Virtual) -> None:
    """Long before the run ends, a finished trial's fixture is closed and its baseline forgotten, once each."""
    scene = stage(trials=40, in_flight=1)
    virtual(scene.run)
    for ordinal in range(20):
        verbs = [verb for verb, _ in scene.verbs(ordinal)]
        assert (verbs.count("close"), verbs.count("forget")) == (1, 1)


def test_a_line_holds_what_the_row_was_made_from(stage: MakeStage, virtual: Virtual) -> None:
    """Row, attempt, digest of the trial and what was seen stand in the scored line; the lease stands before it."""
    scene = stage(trials=1)
    virtual(scene.run)
    lease, scored = scene.lines()
    assert (lease["type"], lease["lease"], lease["worker"], lease["keys"]) == ("lease", 1, "worker-0", ["a::t::t0"])
    assert (scored["attempt"], scored["trial_digest"], scored["seen"]) == (1, "digest 0 0", ["seen"])
    assert scored["row"]["report"] == {"said": 0}
    assert scored["row"]["execution"] == {
        "attempt": 1,
        "isolation": "in-process",
        "arm_fault": None,
        "fault_detail": "",
        "started_at": "begun",
        "finished_at": "ended",
        "latency_s": 0.5,
        "reads": 1,
    }


@pytest.mark.parametrize(
    ("way", "line", "cause"),
    [
        ("open", "infrastructure", "provider"),
        ("arm", "infrastructure", "provider"),
        ("baseline", "unreadable", "unreadable"),
        ("unread", "unreadable", "unreadable"),
    ],
)
def test_a_trial_that_keeps_failing_is_counted_apart(
    stage: MakeStage, virtual: Virtual, way: str, line: str, cause: str
) -> None:
    """Each attempt is a fresh lease with the next number; the last one is terminal, and others are not held up."""
    scene = stage(trials=3, attempts=3)
    scene.script = lambda ordinal, attempt: way if ordinal == 1 else "good"
    virtual(scene.run)
    assert scene.types_of(1) == [("failed", 1), ("failed", 2), (line, 3)]
    assert [attempt for verb, attempt in scene.verbs(1) if verb == "lease"] == [1, 2, 3]
    assert {entry["cause"] for entry in scene.lines() if entry.get("key") == "a::t::t1"} == {cause}
    assert scene.ledger.unreadable_attempts["a"] == (3 if line == "unreadable" else 0)
    expect_one_terminal_line_each(scene)


def test_a_trial_that_fails_once_is_scored(stage: MakeStage, virtual: Virtual) -> None:
    """The second attempt waits for its backoff and is scored as attempt 2."""
    scene = stage(trials=1)
    scene.script = lambda ordinal, attempt: "open" if attempt == 1 else "good"
    leased_at = []

    async def main() -> None:
        began = anyio.current_time()
        await scene.run()
        leased_at.append(anyio.current_time() - began)

    virtual(main)
    assert scene.types_of(0) == [("failed", 1), ("scored", 2)]
    assert leased_at[0] >= BACKOFF_FIRST_S
    assert scene.ledger.failures == {}


def test_a_payload_that_cannot_be_had_is_the_providers_fault(stage: MakeStage, virtual: Virtual) -> None:
    """Such a trial is infrastructure after its attempts, without reaching a worker, and the run goes on."""
    scene = stage(trials=3)
    good = scene.payload

    def payload(task: int, trial: int) -> Any:
        if trial == 1:
            raise RuntimeError("no such patient")
        return good(task, trial)

    scene.payload = payload
    virtual(scene.run)
    assert scene.types_of(1) == [("failed", 1), ("failed", 2), ("infrastructure", 3)]
    assert [verb for verb, _ in scene.verbs(1) if verb in ("lease", "go")] == []
    expect_one_terminal_line_each(scene)


def test_a_place_whose_leases_all_fail_is_looked_at_again(stage: MakeStage, virtual: Virtual) -> None:
    """A provider that has no payloads at all ends every trial, though no worker ever says a word."""
    scene = stage(trials=40, attempts=1, in_flight=4, lease_max=64)

    def payload(task: int, trial: int) -> Any:
        raise RuntimeError("no such patient")

    scene.payload = payload
    virtual(scene.run)
    assert scene.ledger.conservation()["infrastructure"] == 40


def test_late_answers_are_refused_and_written_down(stage: MakeStage, virtual: Virtual) -> None:
    """What an old attempt, or a trial that is done, still has to say changes nothing and stands in the journal."""
    scene = stage(trials=2)
    scene.script = lambda ordinal, attempt: "open" if (ordinal, attempt) == (0, 1) else "good"
    worker, oracle = scene.workers[0], scene.oracle

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            await anyio.sleep(BACKOFF_FIRST_S / 2)
            worker.box.put(Opened(0, 1, ReadPath("snapshot", True, {})))
            worker.box.put(Finished(1, 1, {}, None, "", "", "", 0.0))
            oracle.box.put(Ready(0, 1))
            oracle.box.put(Judged(1, 1, 1, True, "", {"label": "other"}, None))
            oracle.box.put(Unread(1, 7, 1, ""))

    virtual(main)
    refused = Counter((line["key"], line["why"]) for line in scene.lines() if line["type"] == "refused")
    assert refused == {
        ("a::t::t0", "Opened of attempt 1 came late"): 1,
        ("a::t::t0", "Ready of attempt 1 came late"): 1,
        ("a::t::t1", "Finished of attempt 1 came late"): 1,
        ("a::t::t1", "Judged of attempt 1 came late"): 1,
        ("a::t::t1", "Unread of attempt 7 came late"): 1,
    }
    expect_one_terminal_line_each(scene)


def test_an_old_attempt_does_not_speak_for_the_new_one(stage: MakeStage, virtual: Virtual) -> None:
    """While the second attempt waits for the same answer, that of the first one is still refused."""
    scene = stage(trials=1)
    scene.script = lambda ordinal, attempt: "open" if attempt == 1 else "silent"
    path = ReadPath("snapshot", True, {})

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            await anyio.sleep(10)
            scene.workers[0].box.put(Opened(0, 1, path))
            await anyio.sleep(10)
            assert [verb for verb, _ in scene.verbs(0)].count("before") == 0
            scene.workers[0].box.put(Opened(0, 2, path))

    virtual(main)
    assert [entry for entry in scene.types_of(0) if entry[0] != "refused"] == [("failed", 1), ("scored", 2)]
    assert ("refused", 1) in scene.types_of(0)


def test_an_answer_that_is_told_twice_counts_once(stage: MakeStage, virtual: Virtual) -> None:
    """The second one finds its trial in another phase, and is refused."""
    scene = stage(trials=5)
    scene.twice = lambda: True
    virtual(scene.run)
    assert [scene.types_of(ordinal).count(("scored", 1)) for ordinal in range(5)] == [1] * 5
    assert sum(line["type"] == "refused" for line in scene.lines()) > 0
    expect_one_terminal_line_each(scene)


def test_a_note_stands_in_the_journal(stage: MakeStage, virtual: Virtual) -> None:
    """What a worker notes becomes a line and moves no trial."""
    scene = stage(trials=1)
    scene.workers[0].box.put(Noted("a fixture did not close"))
    virtual(scene.run)
    assert [line["text"] for line in scene.lines() if line["type"] == "note"] == ["a fixture did not close"]


def test_more_trials_than_room_all_come_through(stage: MakeStage, virtual: Virtual) -> None:
    """Two workers and a small limit carry a long plan, and both of them work."""
    scene = stage(trials=60, arms=("a", "b"), workers=2, in_flight=3)
    virtual(scene.run)
    expect_one_terminal_line_each(scene)
    leases = {line["worker"] for line in scene.lines() if line["type"] == "lease"}
    assert leases == {"worker-0", "worker-1"}
    assert [line["lease"] for line in scene.lines() if line["type"] == "lease"] == list(
        range(1, 1 + sum(line["type"] == "lease" for line in scene.lines()))
    )


def act_while_running(scene: Any, act: Callable[[Any], None], after_s: float) -> Callable[[], Awaitable[float]]:
    """Run the scene, act on its driver after a while, and give the seconds that the driver ran in all."""

    async def main() -> float:
        driver = scene.driver()
        began = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(driver.run, scene)
            await anyio.sleep(after_s)
            act(driver)
        return anyio.current_time() - began

    return main


def test_a_drain_starts_nothing_more(stage: MakeStage, virtual: Virtual) -> None:
    """What runs may end; what is opening or waits for its baseline is let go; all of that is owed."""
    scene = stage(trials=40, in_flight=4)
    ways = {0: "good", 1: "silent", 2: "good", 3: "hangs"}
    scene.script = lambda ordinal, attempt: ways.get(ordinal, "silent")
    scene.delay_s = lambda: 1.0

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()
        driver.drain()

    took_s = virtual(act_while_running(scene, drain, after_s=3.5))
    told = [verb for verb, _, _ in scene.log]
    assert told.count("halt") == 1
    assert "lease" not in told[told.index("halt") :]
    assert "go" not in told[told.index("halt") :]
    assert [scene.ledger.standing(ordinal) for ordinal in (0, 2)] == [Standing.SCORED] * 2
    assert scene.ledger.owed() == 38
    assert took_s == pytest.approx(3.5 + 30)
    scene.ledger.check()


def test_a_drain_ends_as_soon_as_nothing_runs(stage: MakeStage, virtual: Virtual) -> None:
    """The run does not wait for drain_s where there is nothing to wait for."""
    scene = stage(trials=4)
    scene.script = lambda ordinal, attempt: "silent" if ordinal % 2 else "waits"

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()

    assert virtual(act_while_running(scene, drain, after_s=2)) == pytest.approx(2, abs=0.1)
    assert scene.ledger.owed() == 4


def test_an_attempt_that_fails_during_a_drain_stays_owed(stage: MakeStage, virtual: Virtual) -> None:
    """It is written down as failed and not repeated in this session."""
    scene = stage(trials=1)
    scene.script = lambda ordinal, attempt: "unread"
    scene.delay_s = lambda: 1.0

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()

    virtual(act_while_running(scene, drain, after_s=2.5))
    assert scene.types_of(0) == [("failed", 1)]
    assert scene.ledger.owed() == 1


def test_a_stop_ends_at_once(stage: MakeStage, virtual: Virtual) -> None:
    """Whatever is on its way stays owed, and what was acknowledged stays."""
    scene = stage(trials=10, in_flight=4)
    scene.script = lambda ordinal, attempt: "hangs" if ordinal % 2 else "good"
    assert virtual(act_while_running(scene, lambda driver: driver.stop(), after_s=7)) == pytest.approx(7)
    scored = [ordinal for ordinal in range(10) if scene.ledger.standing(ordinal) is Standing.SCORED]
    assert scored
    assert all(ordinal % 2 == 0 for ordinal in scored)
    assert scene.ledger.owed() == 10 - len(scored)


def test_a_loss_during_a_drain_does_not_cut_it_short(stage: MakeStage, virtual: Virtual) -> None:
    """What is being read may end, though its worker is gone and nobody can take its place."""
    scene = stage(trials=40, in_flight=4, losses_max=0)
    scene.channel = "sql"
    scene.delay_s = lambda: 1.0

    async def nobody(lost: Any) -> Any:
        raise RunIncomplete("no worker is left")

    scene.another_worker = nobody

    def drain(driver: Any) -> None:
        scene.draining = True
        driver.drain()
        scene.workers[0].box.close()

    virtual(act_while_running(scene, drain, after_s=3.5))
    assert scene.ledger.conservation()["scored"] > 0


@pytest.mark.parametrize("after_s", [1, 2, 3, 5, 8])
def test_what_is_over_leases_nothing_more(stage: MakeStage, virtual: Virtual, after_s: int) -> None:
    """Every attempt that the ledger counts has its lease in the journal, however the run ended."""
    scene = stage(trials=30, in_flight=2)
    scene.script = lambda ordinal, attempt: "hangs" if ordinal % 7 == 6 else "good"
    virtual(act_while_running(scene, lambda driver: driver.stop(), after_s=after_s))
    leased = {key for line in scene.lines() if line["type"] == "lease" for key in line["keys"]}
    counted = {scene.plan.key(ordinal) for ordinal in range(30) if scene.ledger.next_attempt(ordinal) > 1}
    assert counted == leased


def test_after_the_disk_has_refused_nothing_is_acknowledged(stage: MakeStage, virtual: Virtual) -> None:
    """The error ends the run, and neither ledger nor peers hear of an end that is not on the disk."""
    for refuses_from in (2, 3, 4):
        scene = stage(trials=30, in_flight=2, refuses_from=refuses_from)
        with pytest.raises((JournalUnwritable, BaseExceptionGroup)) as caught:
            virtual(scene.run)
        assert {type(leaf) for leaf in leaves(caught.value)} == {JournalUnwritable}
        on_disk = {key for line_type, key, _ in scene.files.synced if line_type in TERMINAL}
        ended = {scene.plan.key(place) for place in range(30) if not scene.ledger.is_owed(place)}
        assert ended == on_disk
        scene.ledger.check()


def test_a_long_silence_is_told_with_what_is_waited_for(stage: MakeStage, virtual: Virtual) -> None:
    """After stall_report_s without any event a person hears how many trials are on their way and which is oldest."""
    scene = stage(trials=2, stall_report_s=60)
    scene.script = lambda ordinal, attempt: "hangs" if ordinal else "good"
    virtual(act_while_running(scene, lambda driver: driver.stop(), after_s=200))
    assert 2 <= len(scene.notices) <= 3
    assert "1 trials on their way" in scene.notices[0]
    assert "a::t::t1, running for" in scene.notices[0]


def test_a_later_session_does_what_is_owed(stage: MakeStage, virtual: Virtual) -> None:
    """After a stop, a driver over the same journal leases only what has no end, with the next attempt numbers."""
    scene = stage(trials=10, in_flight=3)
    scene.script = lambda ordinal, attempt: "hangs" if ordinal in (2, 5) and attempt == 1 else "good"
    virtual(act_while_running(scene, lambda driver: driver.stop(), after_s=5))
    scene.journal.close()
    done = {ordinal for ordinal in range(10) if not scene.ledger.is_owed(ordinal)}
    begun = {ordinal for verb, ordinal, _ in scene.log if verb == "lease"}
    scene.log.clear()
    virtual(scene.run)
    again = {ordinal: attempt for verb, ordinal, attempt in scene.log if verb == "lease"}
    assert set(again) == set(range(10)) - done
    assert all(attempt == (2 if ordinal in begun else 1) for ordinal, attempt in again.items())
    expect_one_terminal_line_each(scene)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(1, 6),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_every_interleaving_ends_each_trial_once(
    stage: MakeStage,
    virtual: Virtual,
    trials: int,
    workers: int,
    in_flight: int,
    attempts: int,
    draw: random.Random,
) -> None:
    """Whatever fails, whenever answers come and however often, each key ends once and nothing is lost."""
    scene = stage(
        trials=trials, arms=("a", "b"), workers=workers, in_flight=in_flight, attempts=attempts, losses_max=1000
    )
    ways: dict[tuple[int, int], str] = {}
    scene.script = lambda ordinal, attempt: ways.setdefault((ordinal, attempt), draw.choice(WAYS))
    scene.delay_s = lambda: draw.choice((0.0, 0.001, 0.01, 0.3, 2.0)) * draw.random()
    scene.twice = lambda: draw.random() < 0.1
    virtual(scene.run)
    expect_one_terminal_line_each(scene)
    for ordinal in range(len(scene.plan)):
        made = [attempt for kind, attempt in scene.types_of(ordinal) if kind in TERMINAL | {"failed"}]
        assert made == list(range(1, len(made) + 1))
        assert len(made) <= attempts
        scored = ways[ordinal, made[-1]] == "good"
        assert (scene.ledger.standing(ordinal) is Standing.SCORED) is scored


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 10), st.lists(st.floats(0, 3), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_stops_at_any_moment_lose_and_repeat_nothing(
    stage: MakeStage, virtual: Virtual, trials: int, stops_s: list[float], draw: random.Random
) -> None:
    """However often a run is stopped and taken up again, at the end each key has one terminal line."""
    scene = stage(trials=trials, in_flight=4)
    scene.script = lambda ordinal, attempt: draw.choice(WAYS)
    scene.delay_s = lambda: draw.random()
    for stop_s in stops_s:
        virtual(act_while_running(scene, lambda driver: driver.stop(), after_s=stop_s))
        scene.journal.close()
        scene.ledger.check()
        scene.ready.clear()
    virtual(scene.run)
    expect_one_terminal_line_each(scene)
