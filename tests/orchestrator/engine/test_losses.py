"""A lost worker or oracle costs its trials an attempt and the run nothing; only a lost cluster ends it."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.losses import LIFE_SIGN_S
from orchestrator.ledger import Standing
from spec.errors import RunIncomplete
from spec.groups import leaves

MakeStage = Callable[..., Any]
Virtual = Callable[[Callable[[], Awaitable[Any]]], Any]

LONG_S: Final = 10_000.0
TERMINAL: Final = {"scored", "unreadable", "infrastructure", "cancelled"}


def expect_whole(scene: Any) -> None:
    """Every key has exactly one terminal line, and nothing is owed."""
    ends = Counter(line["key"] for line in scene.lines() if line["type"] in TERMINAL)
    assert ends == {scene.plan.key(ordinal): 1 for ordinal in range(len(scene.plan))}
    scene.ledger.check()
    assert scene.ledger.owed() == 0


def failed(scene: Any) -> list[tuple[str, int, str]]:
    """The failed attempts as (key, attempt, cause)."""
    return [(line["key"], line["attempt"], line["cause"]) for line in scene.lines() if line["type"] == "failed"]


def run_and(scene: Any, act: Callable[[], None], after_s: float) -> Callable[[], Awaitable[None]]:
    """Run the scene and act once after a while."""

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            await anyio.sleep(after_s)
            act()

    return main


def test_what_a_lost_worker_held_is_repeated(stage: MakeStage, virtual: Virtual) -> None:
    """Its trials get a fresh fixture on a worker that lives, attempt + 1; the other worker's trials are not touched."""
    scene = stage(trials=40, workers=2, in_flight=4)
    scene.delay_s = lambda: 1.0
    virtual(run_and(scene, lambda: scene.workers[0].box.close(), after_s=2.5))
    expect_whole(scene)
    assert {cause for _, _, cause in failed(scene)} == {"worker_lost"}
    assert 0 < len(failed(scene)) <= 4
    assert all(scene.ledger.standing(ordinal) is Standing.SCORED for ordinal in range(40))
    assert len(scene.workers) == 3
    assert "worker-0 is lost" in scene.notices[0]


def test_a_lost_oracle_leaves_no_verdict_without_a_reading(stage: MakeStage, virtual: Virtual) -> None:
    """What it was asked is repeated; so is a trial whose baseline went down with it, once its arm is done."""
    scene = stage(trials=20, in_flight=4)
    scene.delay_s = lambda: 1.0
    virtual(run_and(scene, lambda: scene.oracle.box.close(), after_s=2.5))
    expect_whole(scene)
    causes = {cause for _, _, cause in failed(scene)}
    assert causes == {"oracle_lost"}
    assert len(scene.oracles) == 2
    scored = {line["key"]: line["attempt"] for line in scene.lines() if line["type"] == "scored"}
    assert all(scored[key] == attempt + 1 for key, attempt, _ in failed(scene))


@pytest.mark.parametrize("who", ["worker", "oracle"])
def test_a_peer_that_only_seems_to_live_is_found_by_its_heartbeat(stage: MakeStage, virtual: Virtual, who: str) -> None:
    """No sign of life within ten seconds in all is a loss, though no connection has broken."""
    scene = stage(trials=6, in_flight=4)
    scene.script = lambda ordinal, attempt: "hangs" if attempt == 1 else "good"

    async def main() -> None:
        peer = scene.workers[0] if who == "worker" else scene.oracle
        peer.stuck = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            await anyio.sleep(10)
            assert scene.notices, "nobody has noticed"
            if who == "oracle":  # its trials' arms hang, and no oracle can end them
                tasks.cancel_scope.cancel()

    virtual(main)
    assert f"no sign of life within {LIFE_SIGN_S:g} s" in scene.notices[0]
    if who == "worker":
        expect_whole(scene)


def test_a_lost_cluster_ends_the_run(stage: MakeStage, virtual: Virtual) -> None:
    """The run says so; what is scored is durable, everything else is owed, and nothing is inferred."""
    scene = stage(trials=40, in_flight=4)
    scene.delay_s = lambda: 1.0
    with pytest.raises(BaseExceptionGroup) as caught:
        virtual(run_and(scene, lambda: setattr(scene, "broken", True), after_s=10))
    assert [type(leaf) for leaf in leaves(caught.value)] == [RunIncomplete]
    ends = [line["key"] for line in scene.lines() if line["type"] in TERMINAL]
    assert 0 < len(ends) == 40 - scene.ledger.owed()
    assert not failed(scene)


def test_losses_without_any_row_in_between_end_the_run(stage: MakeStage, virtual: Virtual) -> None:
    """A crew that keeps dying is given up after losses_max, and its trials are owed; rows in between start anew."""
    scene = stage(trials=4, in_flight=4, losses_max=3, attempts=100)
    scene.delay_s = lambda: 1.0

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            while True:
                await anyio.sleep(0.5)
                scene.workers[-1].box.close()

    with pytest.raises(BaseExceptionGroup) as caught:
        virtual(main)
    assert [str(leaf)[:29] for leaf in leaves(caught.value)] == ["4 workers and oracles were lo"]
    assert scene.ledger.owed() == 4
    assert len(scene.workers) == 4


def killing(scene: Any, killers: Collection[int]) -> None:
    """Have the arms of some trials kill their workers as soon as they run."""

    def script(ordinal: int, attempt: int) -> str:
        return "kills" if ordinal in killers else "good"

    scene.script = script


def test_an_arm_that_kills_its_worker_is_found_and_counted_apart(stage: MakeStage, virtual: Virtual) -> None:
    """Dying alone with its worker twice ends it as unreadable; whoever ran beside it is scored, and no run is lost."""
    scene = stage(trials=40, workers=2, in_flight=16, losses_max=2)
    scene.delay_s = lambda: 0.5
    killing(scene, {3, 21})
    virtual(scene.run)
    expect_whole(scene)
    apart = {line["key"]: line["cause"] for line in scene.lines() if line["type"] == "unreadable"}
    assert apart == {scene.plan.key(3): "killed_worker", scene.plan.key(21): "killed_worker"}
    assert scene.ledger.conservation()["scored"] == 38
    assert all(line["cause"] == "worker_lost" for line in scene.lines() if line["type"] == "failed")


def test_a_killer_whose_record_outlives_its_worker_is_scored(stage: MakeStage, virtual: Virtual) -> None:
    """A record that is not in the worker is read after the second death alone: the arm's fault is killed_worker."""
    scene = stage(trials=8, in_flight=4)
    scene.channel = "sql"
    killing(scene, {2})
    virtual(scene.run)
    expect_whole(scene)
    assert scene.ledger.conservation()["scored"] == 8
    (line,) = (line for line in scene.lines() if line["type"] == "scored" and line["key"] == scene.plan.key(2))
    assert line["row"]["execution"]["arm_fault"] == "killed_worker"
    assert line["row"]["report"]["fault"] == "killed_worker"


@pytest.mark.parametrize("seed", range(4))
def test_who_stands_beside_killers_loses_no_attempt(stage: MakeStage, virtual: Virtual, seed: int) -> None:
    """With every fourth trial a killer, the killers are counted apart and all others are scored."""
    draw = random.Random(seed)
    scene = stage(trials=80, workers=2, in_flight=16)
    scene.delay_s = lambda: draw.choice([0.0, 0.1, 1.0])
    killing(scene, set(range(0, 80, 4)))
    virtual(scene.run)
    expect_whole(scene)
    assert scene.ledger.conservation() == {
        "planned": 80,
        "scored": 60,
        "unreadable": 20,
        "infrastructure": 0,
        "cancelled": 0,
        "owed": 0,
    }


def test_while_suspects_wait_permits_are_where_they_can_be_used(stage: MakeStage, virtual: Virtual) -> None:
    """One lost worker stops no arm, and no healthy worker is ended for a silence that it could not help."""
    draw = random.Random(0)
    scene = stage(trials=40, arms=("a", "b"), workers=2, in_flight=2, open_s=60.0, deadlines_s={"a": 60.0, "b": 60.0})
    scene.delay_s = lambda: draw.choice([1.0, 10.0, 20.0])
    virtual(run_and(scene, lambda: scene.workers[0].box.close(), after_s=50))
    expect_whole(scene)
    assert scene.ledger.conservation()["scored"] == 80
    assert len(scene.notices) == 1


def test_no_more_than_half_of_the_workers_wait_for_suspects(stage: MakeStage, virtual: Virtual) -> None:
    """While one trial after the other is repeated alone, the others go on where they are."""
    scene = stage(trials=200, workers=4, in_flight=8)
    scene.delay_s = lambda: 0.5
    killing(scene, {0})
    virtual(scene.run)
    expect_whole(scene)
    ends = [line["key"] for line in scene.lines() if line["type"] in TERMINAL]
    assert ends.index(scene.plan.key(0)) < 150
    beside = set(ends[: ends.index(scene.plan.key(0))])
    assert len(beside) > 20


def test_a_suspect_runs_alone(stage: MakeStage, virtual: Virtual) -> None:
    """Nothing else is at work in the worker in which a killer dies for the last time."""
    scene = stage(trials=30, workers=2, in_flight=10)
    scene.delay_s = lambda: 0.5
    killing(scene, {5})
    seen: list[int] = []
    scene.at_death = lambda worker: seen.append(len(worker.at_work))
    virtual(scene.run)
    assert seen[-2:] == [1, 1]
    assert seen[0] > 1


def test_a_worker_in_which_all_fails_is_replaced(stage: MakeStage, virtual: Virtual) -> None:
    """After losses_max failed attempts in a row, while the other worker does well, somebody else takes its place."""
    scene = stage(trials=60, workers=2, in_flight=8, losses_max=3)
    scene.delay_s = lambda: 0.5
    scene.sick = {"worker-1"}
    virtual(scene.run)
    expect_whole(scene)
    assert scene.ledger.conservation()["scored"] == 60
    assert re.match(r"worker-1 is given up: \d+ attempts in a row failed there", scene.notices[0])
    assert len(scene.workers) == 3


def test_where_all_workers_fail_none_is_replaced(stage: MakeStage, virtual: Virtual) -> None:
    """A provider that works nowhere costs its trials their attempts and no worker its place."""
    draw = random.Random(1)
    scene = stage(trials=12, workers=2, in_flight=8)
    scene.sick = {"worker-0", "worker-1"}
    scene.delay_s = lambda: draw.choice([0.1, 1.0, 3.0])
    virtual(scene.run)
    assert scene.ledger.conservation()["infrastructure"] == 12
    assert len(scene.workers) == 2


def test_an_arm_that_holds_up_its_worker_costs_it_its_place(stage: MakeStage, virtual: Virtual) -> None:
    """A loop that stands still for longer than any arm may run is ended from outside, long before the silence limit."""
    scene = stage(trials=1, deadlines_s={"a": 5.0})
    scene.script = lambda ordinal, attempt: "hangs" if attempt == 1 else "good"

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            await anyio.sleep(1)
            scene.workers[0].held_up_s = 6.5

    virtual(main)
    expect_whole(scene)
    assert "an arm has held it up for 6 s" in scene.notices[0]


@pytest.mark.parametrize(("way", "who"), [("silent", "worker-0"), ("hangs", "worker-0"), ("waits", "oracle-0")])
def test_a_peer_that_forgets_a_trial_cannot_hang_the_run(
    stage: MakeStage, virtual: Virtual, way: str, who: str
) -> None:
    """One that lives and says nothing of the last trial for longer than all it was asked can take is replaced."""
    scene = stage(trials=3, open_s=60.0, baseline_s=30.0, read_s=40.0, deadlines_s={"a": 50.0})
    scene.script = lambda ordinal, attempt: way if (ordinal, attempt) == (2, 1) else "good"
    virtual(scene.run)
    expect_whole(scene)
    assert scene.notices[0].startswith(f"{who} is lost: it has said nothing for")
    assert scene.ledger.conservation()["scored"] == 3


def test_peers_of_a_node_that_went_down_are_one_loss(stage: MakeStage, virtual: Virtual) -> None:
    """Four workers of one node cost one loss of those that end a run, and their arms are under no suspicion."""
    scene = stage(trials=20, workers=5, in_flight=10, losses_max=1)
    scene.delay_s = lambda: 1.0
    scene.node_of = lambda name: "node-1" if name in {f"worker-{place}" for place in range(4)} else ""

    def down() -> None:
        for worker in scene.workers[:4]:
            worker.box.close()

    virtual(run_and(scene, down, after_s=2.5))
    expect_whole(scene)
    assert scene.ledger.conservation()["scored"] == 20
    assert all(line.get("counted", True) for line in scene.lines() if line["type"] == "failed")


def test_who_joins_gets_work(stage: MakeStage, virtual: Virtual) -> None:
    """A worker that comes during the run takes its share of what is left."""
    scene = stage(trials=60, workers=1, in_flight=4)
    scene.delay_s = lambda: 1.0

    async def joined() -> Any:
        await anyio.sleep(5 if len(scene.workers) == 1 else math.inf)
        scene.hire()
        return scene.workers[-1]

    scene.joined = joined
    virtual(scene.run)
    expect_whole(scene)
    assert {line["worker"] for line in scene.lines() if line["type"] == "lease"} == {"worker-0", "worker-1"}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), losses=st.integers(1, 6), workers=st.integers(1, 3))
def test_whoever_is_lost_whenever_each_trial_ends_once(
    stage: MakeStage, virtual: Virtual, seed: int, losses: int, workers: int
) -> None:
    """Over random delays, failures and losses of workers and oracles every key gets exactly one terminal line."""
    draw = random.Random(seed)
    scene = stage(trials=15, arms=("a", "b"), workers=workers, in_flight=6, attempts=50, losses_max=1000)
    scene.delay_s = lambda: draw.choice([0.0, 0.1, 1.0])
    ways = {ordinal: draw.choice(["good", "good", "open", "unread"]) for ordinal in range(30)}
    scene.script = lambda ordinal, attempt: ways[ordinal] if attempt % 3 == 1 else "good"

    async def main() -> None:
        with anyio.fail_after(LONG_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scene.run)
                for _ in range(losses):
                    await anyio.sleep(draw.uniform(0, 3))
                    draw.choice([*scene.workers, *scene.oracles]).box.close()

    virtual(main)
    expect_whole(scene)
    apart = [line for line in scene.lines() if line["type"] in TERMINAL - {"scored"}]
    assert all(line["cause"] == "killed_worker" for line in apart)  # alone in two workers that were lost
    assert len(apart) <= losses / 2
