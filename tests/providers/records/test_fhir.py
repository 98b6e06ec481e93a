"""The FHIR API: searches, pages, reads and refusals, held against the models of FHIR R4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fhir.resources.R4B import get_fhir_model_class

from providers.records.drafts import Draft
from providers.records.fhir_resources import FIELDS, MAKERS
from providers.records.ladder import ladder
from providers.records.variants import variants

if TYPE_CHECKING:
    from tests.providers.records.conftest import House, Played


async def get(played: Played, path: str, token: str | None = None) -> tuple[int, Any]:
    desk = played.desk
    answer = await desk.connection.ask(
        desk.base.read_token() if token is None else token, "GET", f"/fhir/{played.fixture._record}/{path}"
    )
    return answer.status, answer.body


def valid(resource: dict[str, Any]) -> None:
    get_fhir_model_class(resource["resourceType"]).model_validate(resource)


async def with_rows(house: House) -> Played:
    """A saved encounter with its weight, a bill, a message, and a soft-deleted row of somebody else."""
    played = await house.open(variants("fhir"), "soft_deleted")
    await played.fixture.environment.attempt_intended_action()
    await played.fixture.back_door.insert("billing", {"patient_id": "p1", "amount": "120.00"})
    await played.fixture.back_door.insert("outbox", {"patient_id": "p1", "text": "Please come in."})
    return played


@pytest.mark.anyio
async def test_every_answer_fits_the_model(house: House) -> None:
    """Bundles, their resources, the statement of capabilities and a refusal are valid FHIR R4."""
    played = await with_rows(house)
    for kind in MAKERS:
        status, bundle = await get(played, kind)
        assert (status, bundle["total"] > 0) == (200, True)
        valid(bundle)
        for entry in bundle["entry"]:
            valid(entry["resource"])
            assert await get(played, f"{kind}/{entry['resource']['id']}") == (200, entry["resource"])
    for path, expected in (("metadata", 200), ("Encounter/99", 404), ("Medication", 404), ("Encounter?_count=0", 400)):
        status, body = await get(played, path)
        assert status == expected
        valid(body)


@pytest.mark.anyio
async def test_resources_say_what_the_rows_say(house: House) -> None:
    """The encounter and its weight stand there with every value, and a deleted row is entered in error."""
    played = await with_rows(house)
    _, bundle = await get(played, "Encounter?patient=p1")
    deleted, saved = (entry["resource"] for entry in bundle["entry"])
    assert (deleted["status"], saved["status"]) == ("entered-in-error", "finished")
    assert saved["reasonCode"] == [{"text": played.params["note"]}]
    assert saved["period"] == {"start": played.params["seen_at"]}
    _, bundle = await get(played, "Observation?code=body-weight")
    assert bundle["entry"][0]["resource"]["valueQuantity"]["value"] == float(played.params["weight_kg"])


@pytest.mark.anyio
async def test_a_search_narrows_by_each_parameter(house: House) -> None:
    """Patient, id, name, number and date of change select; alternatives stand behind commas."""
    played = await with_rows(house)
    for search, total in {
        "Patient?name=zo": 1,
        "Patient?birthdate=1977-07-02": 1,
        "Patient?identifier=R-10382": 1,
        "Patient?_id=p1,p3": 2,
        "Patient?_lastUpdated=gt2026-01-05T08:00:00Z": 0,
        "Patient?_lastUpdated=ge2026-01-05T09:00:00%2B01:00": 3,
        "Encounter?patient=p1&type=Consult": 1,
        "Encounter?subject=Patient/p2": 0,
        "Encounter?_lastUpdated=lt2026-01-05T08:00:00Z": 0,
        "ChargeItem?_lastUpdated=gt2020-01-05T08:00:00Z": 0,
        "Communication?patient=p1": 1,
    }.items():
        status, bundle = await get(played, search)
        assert (status, bundle["total"], len(bundle.get("entry", []))) == (200, total, total), search


@pytest.mark.anyio
async def test_pages_bring_every_resource_once(house: House) -> None:
    """Following the links of a search brings each match once, and each page tells the whole number."""
    played = await house.open(ladder("fhir"), "ok")
    for _ in range(5):
        await played.fixture.back_door.insert("billing", {"patient_id": "p1"})
    found: list[str] = []
    path = "ChargeItem?patient=p1&_count=2"
    for _ in range(3):
        _, bundle = await get(played, path)
        assert bundle["total"] == 5
        found += [entry["resource"]["id"] for entry in bundle["entry"]]
        links = {link["relation"]: link["url"] for link in bundle["link"]}
        path = links.get("next", "").rpartition("/")[2]
    assert (found, path) == (["1", "2", "3", "4", "5"], "")


@pytest.mark.anyio
async def test_refusals_are_outcomes(house: House) -> None:
    """The arm's session, a wrong date and, for a strict client, an unknown parameter end in an OperationOutcome."""
    played = await house.open(ladder("fhir"), "ok")
    for path, token, status, code in (
        ("Encounter", played.token, 401, "login"),
        ("Encounter?_lastUpdated=gtyesterday", None, 400, "invalid"),
        ("Encounter?_lastUpdated=2026-01-05T08:00:00", None, 400, "invalid"),
        ("Encounter/7", None, 404, "not-found"),
    ):
        found, body = await get(played, path, token)
        assert (found, body["resourceType"], body["issue"][0]["code"]) == (status, "OperationOutcome", code)
    assert (await get(played, "Encounter?colour=red"))[0] == 200


def test_every_field_of_a_contract_is_found() -> None:
    """Each column that the application takes of an encounter has its place in the resource."""
    assert {*Draft._fields} - {"weight_kg"} <= {*FIELDS["encounters"]}
