"""The way around the application: it writes what it is told, and its probe finds the oracle's path out of reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from providers.records.ladder import ladder
from providers.records.tables import METADATA
from spec.errors import ProviderFault

if TYPE_CHECKING:
    from tests.providers.records.conftest import House


@pytest.mark.anyio
async def test_every_table_takes_a_row_of_nothing(house: House) -> None:
    """Ids and what must not be empty are filled in; fields that a table does not have are left out."""
    played = await house.open(ladder("sql"), "ok")
    door = played.fixture.back_door
    assert set(await door.tables()) == set(METADATA.tables)
    for table in await door.tables():
        for _ in range(2):
            await door.insert(table, {"no_such_field": "x"})
    rows = await played.rows()
    assert all(len(rows[table]) == len(played.before[table]) + 2 for table in METADATA.tables)


@pytest.mark.anyio
async def test_rows_are_changed_and_removed_by_what_they_hold(house: House) -> None:
    """An update and a delete answer how many rows there were; null matches null; an unknown field matches none."""
    played = await house.open(ladder("sql"), "stale")
    door = played.fixture.back_door
    assert await door.update("encounters", {"type": "Consult", "key": None}, {"note": "x"}) == 1
    assert (await played.rows())["encounters"][0]["note"] == "x"
    assert await door.update("encounters", {"nothing": 1}, {"note": "y"}) == 0
    assert await door.delete("encounters", {"note": "x"}) == 1
    assert (await played.rows())["encounters"] == []


@pytest.mark.anyio
async def test_it_works_behind_the_seal_and_refuses_what_is_not_there(house: House) -> None:
    """A late write lands after the seal; an unknown table, or an id that is taken, is a refusal with its reason."""
    played = await house.open(ladder("sql"), "ok")
    door = played.fixture.back_door
    played.fixture.seal()
    await door.insert("billing", {"patient_id": "p1", "amount": "1.00"})
    assert len((await played.rows())["billing"]) == 1
    with pytest.raises(ProviderFault, match="no table 'bills'"):
        await door.insert("bills", {})
    with pytest.raises(ProviderFault, match="refuses it"):
        await door.insert("billing", {"id": 1})


@pytest.mark.anyio
async def test_the_probe_finds_nothing(house: House) -> None:
    """With its tools and its session an arm neither learns the database nor reads as the oracle does."""
    played = await house.open(ladder("sql"), "ok")
    assert await played.fixture.back_door.reach() == []


@pytest.mark.anyio
async def test_the_probe_finds_a_leak(house: House) -> None:
    """Where a chart shows the name of the record, the same probe says so."""
    played = await house.open(ladder("sql"), "ok")
    await played.fixture.back_door.update("patients", {"id": "p1"}, {"name": played.fixture._record})
    assert await played.fixture.back_door.reach() == ["the tools tell what only the oracle may know"]
