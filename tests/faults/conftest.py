"""The options, fixtures and the card of the fault tests.

``--faults=smoke`` (what ``make test`` runs) injects a few faults of each kind, ``quick`` more, ``full`` as many as the
card promises; ``--fault-seed=N`` sets what all randomness comes from. With ``quick`` and ``full`` the card is written.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import pytest

from tests.faults.card import Card, CardOfTest, Scale, machine, read_card, write_card
from tests.faults.harness import Runs
from tests.faults.nursery import Nursery

DOCS: Final = Path(__file__).parents[2] / "docs"
SEED: Final = 20260131
CARD: Final = pytest.StashKey[Card]()


class Mode(StrEnum):
    """How many faults are injected."""

    SMOKE = "smoke"
    QUICK = "quick"
    FULL = "full"


ORDER: Final = list(Mode)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the two options; they are there when this folder is named."""
    group = parser.getgroup("faults")
    group.addoption("--faults", choices=[mode.value for mode in Mode], default="smoke", help="how many faults")
    group.addoption("--fault-seed", type=int, default=SEED, help="what all randomness of the faults comes from")


def mode_of(config: pytest.Config) -> Mode:
    """How many faults this session injects."""
    return Mode(config.getoption("--faults", Mode.SMOKE))


def seed_of(config: pytest.Config) -> int:
    """The session's seed."""
    return int(config.getoption("--fault-seed", SEED))


def pytest_configure(config: pytest.Config) -> None:
    """Begin a card."""
    config.stash[CARD] = Card()


def pytest_report_header(config: pytest.Config) -> str:
    """Say how many faults and from what seed."""
    return f"faults: {mode_of(config)}, seed {seed_of(config)}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked for a larger mode: ``@pytest.mark.faults("quick")``."""
    mode = ORDER.index(mode_of(config))
    left_out = [
        item for item in items if any(ORDER.index(Mode(mark.args[0])) > mode for mark in item.iter_markers("faults"))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the card where more than a smoke was asked for; violations end the session with 1."""
    card, mode = session.config.stash.get(CARD, Card()), mode_of(session.config)
    if any(row.found for row in card.rows.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if mode is Mode.SMOKE or not card.rows:
        return
    facts = {
        "mode": mode.value,
        "seed": seed_of(session.config),
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"make faults{'' if mode is Mode.FULL else '-quick'}",
        "machine": machine(),
    }
    write_card(DOCS, card.merged(read_card(DOCS / "fault-card.json"), facts))


@pytest.fixture
def card(request: pytest.FixtureRequest) -> Iterator[CardOfTest]:
    """``card.row(number, fault)``: what is counted in the card; a row with violations fails its test."""
    of_test = CardOfTest(request.config.stash[CARD])
    began_s = time.monotonic()
    yield of_test
    for recorder in of_test.asked:
        recorder.seconds += (time.monotonic() - began_s) / len(of_test.asked)
    assert not of_test.found(), "\n".join(of_test.found())


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    """``scale(smoke=1, quick=5, full=20)``: the one of the three that this session asks for."""
    mode = mode_of(request.config)

    def pick(*, smoke: int, quick: int, full: int) -> int:
        return {Mode.SMOKE: smoke, Mode.QUICK: quick, Mode.FULL: full}[mode]

    return pick


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Randomness of this test alone: from the session's seed and the test's name, whatever else runs."""
    return random.Random(f"{seed_of(request.config)}:{request.node.nodeid.rpartition('::')[2]}")


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """A warm process to fork whole programs from; it has made one undisturbed run of the reference."""
    with Nursery(tmp_path_factory.mktemp("nursery")) as warm:
        warm.warm_up()
        yield warm


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    """Starts runs of the program with a marker of the test's own; what is left of them ends with the test."""
    with Runs(tmp_path) as started:
        yield started
