"""Row 12: the same run is started ten times at once; and the lock goes with its owner, however that ends."""

from __future__ import annotations

import os
import re
import resource
import time
from typing import Final

import pytest

from tests.checker import Violation, check
from tests.faults.card import CardOfTest, Recorder, Scale
from tests.faults.harness import SLOW, Run, Runs, wait_until
from tests.faults.nursery import Nursery

ROW: Final = (12, "ten starts of one run at once, then kill -9 of its owner")
STARTS: Final = 10
LOCKED: Final = 5
REFUSED_S: Final = 5.0
SETS: Final = ("run.trials=20", "engine.in_flight=2")
PLANNED: Final = 360


def cpu_of_children_s() -> float:
    """The processor time of all processes that this one has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start_ten(runs: Runs, first: Run, row: Recorder, *, resumed: bool) -> Run:
    """Start a run ten times at once; the one that proceeds."""
    others = [Run(first.run_dir, first.marker, name=f"rival-{place}") for place in range(1, STARTS)]
    everyone = [first, *others]
    began_s, before_s = time.monotonic(), cpu_of_children_s()
    for run in everyone:
        _ = run.resume() if resumed else run.begin(SLOW, SETS, "--inline")
    ended: dict[int, float] = {}

    def nine_have_ended() -> bool:
        for place, run in enumerate(everyone):
            if place not in ended and run.ended():
                ended[place] = time.monotonic() - began_s
        return len(ended) >= STARTS - 1

    assert wait_until(nine_have_ended, 60)
    row.trial()
    row.inject(STARTS - 1)
    owners = [run for place, run in enumerate(everyone) if place not in ended]
    codes = [everyone[place].end() for place in ended]
    if codes != [LOCKED] * (STARTS - 1) or len(owners) != 1:
        row.violations([Violation("I7", f"nine of ten starts ended with {sorted(codes)}, not all with 5")])
    cpu_s = cpu_of_children_s() - before_s
    if min(max(ended.values()), cpu_s / (os.cpu_count() or 1)) > REFUSED_S:  # others may keep the machine busy
        row.violations([Violation("I7", f"the last of nine was refused after {max(ended.values()):.1f} s")])
    return owners[0] if owners else first


@pytest.mark.faults("quick")
@pytest.mark.timeout(300)
def test_one_of_ten_starts_proceeds(runs: Runs, nursery: Nursery, card: CardOfTest, scale: Scale) -> None:
    """Nine end with 5 and write nothing; kill -9 of the tenth frees the lock, and of ten resumes one proceeds again."""
    row = card.row(*ROW)
    undisturbed = runs.undisturbed(SLOW, SETS)
    for _ in range(scale(smoke=1, quick=1, full=4)):
        owner = start_ten(runs, runs.new(), row, resumed=False)
        assert owner.reached("scored", 5)
        before = owner.kill()
        row.inject()
        owner = start_ten(runs, owner, row, resumed=True)
        code = owner.end()
        found = check(owner.run_dir, undisturbed=undisturbed, before=before, exit_code=code, marker=owner.marker)
        sessions = len(re.findall(rb'"type":"(?:head|resume)"', owner.journal.read_bytes()))
        if sessions != 2:
            found.append(Violation("I2", f"{sessions} sessions have written to the journal, not 2"))
        row.violations(found)
