"""A lost worker or oracle costs its trials an attempt and the run nothing; only a lost cluster ends it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.driver import LIFE_SIGN_S
from orchestrator.ledger import Standing
from spec.errors import RunIncomplete
from spec.groups import leaves

MakeStage = Callable[..., Any]
Virtual = Callable[[Callable[[], Awaitable[Any]]], Any]

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
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.run)
            for _ in range(losses):
                await anyio.sleep(draw.uniform(0, 3))
                draw.choice([*scene.workers, *scene.oracles]).box.close()

    virtual(main)
    expect_whole(scene)
    assert all(scene.ledger.standing(ordinal) is Standing.SCORED for ordinal in range(30))
