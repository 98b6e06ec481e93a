"""What each fault of the ladder leaves behind: rows, banner and answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from providers.records.faults import FAULTS
from providers.records.ladder import ladder
from spec.reading import TrueState

if TYPE_CHECKING:
    from tests.providers.records.conftest import House

CORRECT, WRONG, ABSENT = TrueState.CORRECT, TrueState.WRONG_PERSISTED, TrueState.ABSENT
SCENARIOS = {
    "ok": (CORRECT, True, ""),
    "no_persist": (ABSENT, True, ""),
    "partial": (WRONG, True, ""),
    "duplicate": (WRONG, True, ""),
    "wrong_record": (WRONG, True, ""),
    "stale": (WRONG, True, ""),
    "collateral_unaudited": (WRONG, True, ""),
    "optimistic": (ABSENT, True, "409"),
    "session": (ABSENT, False, "401"),
    "timeout": (CORRECT, True, "in time"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_scenario_is_what_the_ladder_says(house: House, name: str) -> None:
    """State of the record, banner and error of the client are those of the scenario."""
    state, painted, error = SCENARIOS[name]
    played = await house.open(ladder("sql"), name)
    screen = await played.fixture.environment.attempt_intended_action()
    assert (screen.saved, screen.banner) == (painted, "Encounter saved" if painted else "")
    assert (error in screen.error) if error else not screen.error
    assert await played.state() is state


@pytest.mark.anyio
async def test_every_repetition_meets_the_same_fault(house: House) -> None:
    """An arm that saves again repeats the fault; none heals by itself."""
    played = await house.open(ladder("sql"), "duplicate")
    for _ in range(2):
        await played.fixture.environment.attempt_intended_action()
    assert len((await played.rows())["encounters"]) == 4


def test_faults_are_found_by_their_names() -> None:
    """The table's keys are the faults' own names."""
    assert all(name == fault.name for name, fault in FAULTS.items())
