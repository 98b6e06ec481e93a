"""The typed tools of an agent, over the application's API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from providers.records.ladder import ladder
from providers.records.tools import published_tools
from spec.environment import ToolError
from spec.reading import TrueState

if TYPE_CHECKING:
    from tests.providers.records.conftest import House, Played


async def call(played: Played, tool: str, **arguments: str) -> Any:
    return await played.fixture.environment.call(tool, arguments)


@pytest.mark.anyio
async def test_an_agent_can_carry_the_task_out(house: House) -> None:
    """Looking the patient up, opening a form, filling it in and saving it leaves the right record."""
    played = await house.open(ladder("sql"), "ok")
    (patient,) = await call(played, "find_patients", name="talvik", birth_date="1984-03-12")
    draft = await call(played, "start_encounter", patient_id=patient["id"])
    assert draft["type"] == "Triage"
    await call(played, "edit_encounter", encounter=draft["encounter"], note=str(played.params["note"]))
    answer = await call(played, "save_encounter", encounter=draft["encounter"])
    assert answer == {"saved": True, "banner": "Encounter saved", "error": ""}
    assert await played.state() is TrueState.CORRECT


@pytest.mark.anyio
async def test_a_chart_shows_what_the_client_painted(house: House) -> None:
    """After a save that lost its note the chart still shows the note, as the banner does."""
    played = await house.open(ladder("sql"), "partial")
    assert (await call(played, "read_chart", patient_id="p1"))["encounters"] == []
    draft = await call(played, "start_encounter", patient_id="p1", note="seen")
    await call(played, "save_encounter", encounter=draft["encounter"])
    assert (await call(played, "read_chart", patient_id="p1"))["encounters"][0]["note"] == "seen"
    assert (await call(played, "read_screen"))["banner"] == "Encounter saved"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("erase", {}, "there is no tool 'erase'"),
        ("read_chart", {}, "needs the argument 'patient_id'"),
        ("read_chart", {"patient_id": "p9"}, "there is no patient 'p9'"),
        ("read_chart", {"patient_id": "../form"}, "there is no patient"),
        ("save_encounter", {"encounter": "draft-1"}, "there is no draft 'draft-1'"),
        ("start_encounter", {"patient_id": "p1", "type": "Surgery"}, "must be one of Triage"),
        ("queue_message", {"patient_id": "p1", "text": ""}, "a message needs"),
    ],
)
async def test_a_wrong_call_is_told(house: House, tool: str, arguments: dict[str, str], told: str) -> None:
    """Each names what is wrong and changes nothing."""
    played = await house.open(ladder("sql"), "ok")
    with pytest.raises(ToolError, match=told):
        await call(played, tool, **arguments)
    assert await played.rows() == played.before


@pytest.mark.anyio
async def test_a_message_is_part_of_the_record(house: House) -> None:
    """A letter that nobody asked for is seen as a change."""
    played = await house.open(ladder("sql"), "ok")
    await played.fixture.environment.attempt_intended_action()
    await call(played, "queue_message", patient_id="p1", text="Please come in.")
    assert (await played.rows())["outbox"] == [{"id": 1, "patient_id": "p1", "text": "Please come in."}]
    assert await played.state() is TrueState.WRONG_PERSISTED


def test_the_published_schemas_are_schemas() -> None:
    """Each tool's parameters are a valid JSON Schema of an object."""
    for tool in published_tools():
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert tool.parameters["type"] == "object"
