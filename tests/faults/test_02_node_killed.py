"""Row 2, for whole nodes: nodes of a joined cluster are killed and others come, while a run works there."""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.checker import check
from tests.faults.card import NODES, CardOfTest, Recorder, Scale
from tests.faults.harness import SLOW, Run, Runs, wait_until
from tests.faults.nodes import Nodes

COUNT: Final = 3
"""Nodes besides the head, which has no worker where there are others."""
PACE: Final = ("engine.in_flight=2",)
NOTICED_S: Final = 30.0
PROGRESS_S: Final = 60.0
LOOK_S: Final = 0.1


def kill_while_it_lasts(run: Run, nodes: Nodes, row: Recorder, count: int, rng: random.Random) -> int:
    """Kill a node and add another one, each time after a row that came since the last loss was noticed."""
    killed, rows = 0, 0

    def noticed(notes: int) -> bool:
        return wait_until(lambda: run.count("note") > notes or run.ended(), NOTICED_S, LOOK_S)

    def progressed() -> bool:
        return wait_until(lambda: run.count("scored") > rows or run.ended(), PROGRESS_S, LOOK_S)

    while killed < count and progressed() and not run.ended():
        notes = run.count("note")
        nodes.kill(rng.choice(nodes.alive))
        killed += 1
        row.inject()
        nodes.add()
        noticed(notes)
        rows = run.count("scored")
    return killed


@pytest.mark.ray
@pytest.mark.faults("quick")
@pytest.mark.timeout(1500)
def test_killed_nodes_cost_attempts_only(runs: Runs, card: CardOfTest, scale: Scale, rng: random.Random) -> None:
    """What a dead node had is run on the others, whatever worked there; the results are those of one process."""
    row = card.row(NODES, "kill of a node of a joined cluster, another one joining")
    sets = (f"run.trials={scale(smoke=10, quick=20, full=112)}",)
    undisturbed = runs.undisturbed(SLOW, sets)
    left = scale(smoke=1, quick=1, full=20)
    with Nodes() as nodes:
        for _ in range(COUNT):
            nodes.add()
        while left > 0:
            run = runs.new(environment=nodes.environment)
            run.begin(SLOW, (*sets, *PACE, f'engine.address="{nodes.address}"'))
            row.trial()
            killed = kill_while_it_lasts(run, nodes, row, left, rng)
            code = run.end()
            row.violations(check(run.run_dir, undisturbed=undisturbed, exit_code=code, marker=run.marker))
            assert killed, run.output("err").read_text()
            left -= killed
