"""The back door writes what it is told to, around the client, and its probe finds a tool that tells of the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from providers.mockmed.back_door import StoreBackDoor
from providers.mockmed.store import FIELDS
from spec.environment import Tool
from spec.errors import ProviderFault

ROW = {"patient_id": "p1", "type": "Triage", "note": "by the back door"}


def test_it_writes_around_the_client(session: Callable[[str], Any], finish: Callable[..., Any]) -> None:
    """Rows that are added, changed and removed stand in the record as asked, and no screen shows them."""
    opened = session("mockmed::ok")
    door = opened.fixture.back_door
    finish(door.insert("encounters", {**ROW, "unknown": 1}))
    assert opened.rows() == [{**dict.fromkeys(FIELDS), **ROW, "id": 1, "source": "other"}]
    assert finish(door.update("encounters", {"note": ROW["note"]}, {"note": "changed", "unknown": 1})) == 1
    assert finish(door.update("encounters", {"note": "nowhere"}, {"note": "lost"})) == 0
    assert [row["note"] for row in opened.rows()] == ["changed"]
    assert opened.call("read_chart", patient_id="p1")["encounters"] == []
    assert finish(door.delete("encounters", {"note": "changed"})) == 1
    assert opened.rows() == []


def test_ids_are_never_given_twice(session: Callable[[str], Any], finish: Callable[..., Any]) -> None:
    """A row that is added after another was removed has a new id, so that the two are not taken for one."""
    opened = session("mockmed::ok")
    door = opened.fixture.back_door
    finish(door.insert("encounters", ROW))
    finish(door.delete("encounters", ROW))
    finish(door.insert("encounters", ROW))
    assert [row["id"] for row in opened.rows()] == [2]


def test_it_knows_its_table(session: Callable[[str], Any], finish: Callable[..., Any]) -> None:
    """There is one table; a write to another is refused."""
    door = session("mockmed::ok").fixture.back_door
    assert list(finish(door.tables())) == ["encounters"]
    for write in (door.insert("billing", ROW), door.update("billing", ROW, ROW), door.delete("billing", ROW)):
        with pytest.raises(ProviderFault, match="billing"):
            finish(write)


def test_it_writes_behind_the_seal(session: Callable[[str], Any], finish: Callable[..., Any]) -> None:
    """The seal shuts the client, not the back door."""
    opened = session("mockmed::ok")
    opened.fixture.seal()
    finish(opened.fixture.back_door.insert("encounters", ROW))
    assert len(opened.rows()) == 1


@pytest.mark.parametrize("task_id", ["mockmed::stale", "mockmed_c6_homonym_wrong_patient"])
def test_no_tool_tells_of_the_record(session: Callable[[str], Any], finish: Callable[..., Any], task_id: str) -> None:
    """The probe calls every tool and sees nothing that only the record knows."""
    assert list(finish(session(task_id).fixture.back_door.reach())) == []


def test_the_probe_sees_a_tool_that_tells(session: Callable[[str], Any], finish: Callable[..., Any]) -> None:
    """A tool that answers with rows of the record, once it is given the right argument, is named."""
    opened = session("mockmed::ok")

    class Telling:
        tools = (*opened.fixture.environment.tools, Tool("dump", "", {"required": ["table"]}))

        async def call(self, tool: str, arguments: Any) -> Any:
            if tool == "dump":
                return opened.rows() if arguments["table"] == "encounters" else []
            return await opened.fixture.environment.call(tool, arguments)

    telling: Any = Telling()
    door = StoreBackDoor(opened.fixture._store, telling)
    assert finish(door.reach()) == ["the tool dump tells what stands in the record"]
