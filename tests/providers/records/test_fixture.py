"""One trial's record: sealed at once, verified by the product, given back whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from providers.records.generator import generated
from providers.records.ladder import ladder
from spec.environment import ToolError
from spec.reading import Verdict

if TYPE_CHECKING:
    from tests.providers.records.conftest import House


@pytest.mark.anyio
async def test_a_seal_takes_effect_in_the_service_at_once(house: House) -> None:
    """After the seal neither the environment nor the bare token reaches the record, and the record stays."""
    played = await house.open(ladder("sql"), "ok")
    token, connection = played.token, house.desk.connection
    assert (await connection.ask(token, "GET", "/api/records")).status == 200
    played.fixture.seal()
    for method, path in (("GET", "/api/records"), ("GET", "/api/ui/last-save"), ("POST", "/api/encounter")):
        assert (await connection.ask(token, method, path, json={})).status == 401
    with pytest.raises(ToolError, match="sealed"):
        await played.fixture.environment.attempt_intended_action()
    assert (await played.rows())["encounters"] == []


@pytest.mark.anyio
@pytest.mark.parametrize("token", ["", "x" * 43, "../" * 14 + "x", "x" * 42 + "\u00e9"])
async def test_nobody_guesses_a_session(house: House, token: str) -> None:
    """No other text opens a record, a path into the file system included."""
    await house.open(ladder("sql"), "ok")
    assert house.desk.base.lease(token) is None


@pytest.mark.anyio
async def test_two_trials_do_not_see_each_other(house: House) -> None:
    """What one arm saves is in its own database only."""
    one, other = [await house.open(ladder("sql"), "ok") for _ in range(2)]
    await one.fixture.environment.attempt_intended_action()
    assert len((await one.rows())["encounters"]) == 1
    assert (await other.rows())["encounters"] == []


@pytest.mark.anyio
async def test_an_undeclared_effect_has_no_verifier(house: House) -> None:
    """Where the product is told of no effect it offers nothing to verify by, under no name; elsewhere it does."""
    pack = generated("sql", 40, 0)
    for declared in (False, True):
        task = next(one.task for one in pack.entries if one.task.effect_declared is declared)
        environment = (await house.open(pack, task.task_id.removeprefix("generated::"))).fixture.environment
        verifiers = [environment.verifier, *(environment.verifier_by_name(name) for name in ("rest", "sql", "record"))]
        assert [one is not None for one in verifiers] == [declared] * 4


@pytest.mark.anyio
@pytest.mark.parametrize(("scenario", "rest", "sql"), [("ok", True, True), ("collateral_unaudited", True, False)])
async def test_the_verifiers_see_what_they_read(house: House, scenario: str, rest: bool, sql: bool) -> None:
    """The one over the API does not see a bill, and the one over the database does."""
    played = await house.open(ladder("sql"), scenario)
    environment = played.fixture.environment
    verifiers = [environment.verifier_by_name(name) for name in ("rest", "sql", "record")]
    for verifier in verifiers:
        assert verifier is not None
        assert await verifier.verify() is Verdict.INDETERMINATE
        await verifier.snapshot()
    await environment.attempt_intended_action()
    said = [await verifier.verify() for verifier in verifiers if verifier is not None]
    assert [verdict is Verdict.CONFIRMED for verdict in said] == [rest, sql, sql]
    assert environment.verifier_by_name("oracle") is None


@pytest.mark.anyio
async def test_a_closed_fixture_leaves_nothing(house: House) -> None:
    """Lease, entry for the oracle and database are gone; only the template stays for the next trial."""
    played = await house.open(ladder("sql"), "ok")
    await played.fixture.close()
    await played.fixture.close()
    left = [path for path in house.desk.base.directory.rglob("*") if path.is_file()]
    assert {path.name.partition("-")[0] for path in left} == {"template", "read"}
