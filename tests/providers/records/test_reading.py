"""What only the oracle reads over the service: whole tables, page by page, with a token of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from providers.records.ladder import ladder
from providers.records.shape import RECORD_TABLES

if TYPE_CHECKING:
    from tests.providers.records.conftest import House, Played


async def get(house: House, path: str, token: str | None = None) -> tuple[int, Any]:
    answer = await house.desk.connection.ask(house.desk.base.read_token() if token is None else token, "GET", path)
    return answer.status, answer.body


async def many(house: House, rows: int) -> Played:
    played = await house.open(ladder("rest"), "ok")
    for number in range(rows):
        await played.fixture.back_door.insert("billing", {"patient_id": "p1", "amount": str(number)})
    return played


@pytest.mark.anyio
async def test_every_table_of_the_record_is_told(house: House) -> None:
    """The rows are those of the database, and neither the echo nor a table that is not there is told."""
    played = await house.open(ladder("rest"), "stale")
    record = played.fixture._record
    for table in RECORD_TABLES:
        status, body = await get(house, f"/read/{record}/{table}")
        rows = list(played.before[table])
        assert (status, body) == (200, {"rows": rows, "total": len(rows), "next": None})
    for table in ("banner", "audit_log", "nothing"):
        assert (await get(house, f"/read/{record}/{table}"))[0] == 404


@pytest.mark.anyio
async def test_pages_bring_every_row_once(house: House) -> None:
    """Following the links brings all rows in the order of their ids, also where the last page is full."""
    played = await many(house, 6)
    found: list[str] = []
    url: str | None = f"/read/{played.fixture._record}/billing?limit=2"
    while url is not None:
        status, body = await get(house, url)
        assert (status, body["total"]) == (200, 6)
        found += [row["amount"] for row in body["rows"]]
        url = body["next"]
    assert found == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.anyio
async def test_only_the_oracle_reads(house: House) -> None:
    """The arm's session opens nothing here, and the oracle's token opens no session."""
    played = await house.open(ladder("rest"), "ok")
    path = f"/read/{played.fixture._record}/encounters"
    for token in (played.token, "", "wrong"):
        assert (await get(house, path, token))[0] == 401
    assert (await get(house, "/api/records"))[0] == 401


@pytest.mark.anyio
async def test_a_record_is_read_until_it_is_closed(house: House) -> None:
    """A sealed record is read as before; a closed one, and one that never was, is not there."""
    played = await house.open(ladder("rest"), "ok")
    path = f"/read/{played.fixture._record}/encounters"
    played.fixture.seal()
    assert (await get(house, path))[0] == 200
    await played.fixture.close()
    assert (await get(house, path))[0] == 404
    assert (await get(house, f"/read/{'x' * 43}/encounters"))[0] == 404


@pytest.mark.anyio
@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "limit=²", "after=x", "after=" + "9" * 30])
async def test_a_wrong_page_is_refused(house: House, query: str) -> None:
    """Numbers out of bounds and what is no number are told as a wrong request."""
    played = await house.open(ladder("rest"), "ok")
    assert (await get(house, f"/read/{played.fixture._record}/billing?{query}"))[0] == 400
