"""A declared record has a back door where somebody but its service can write it; its probe reads what tools tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from providers.declared.back_door import back_door_of
from spec.environment import Tool, ToolError
from spec.reading import ReadPath


class Telling:
    """An environment with a tool that tells, one that refuses, and one that is silent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.tools = [Tool(name, "", {}) for name in ("about", "close", "find")]

    async def call(self, tool: str, arguments: Any) -> Any:
        if tool == "close":
            raise ToolError("number is missing")
        return self._text if tool == "about" else []


def door(text: str, path: ReadPath, **values: Any) -> Any:
    environment: Any = Telling(text)
    return back_door_of(path, environment, values)


@pytest.mark.anyio
async def test_a_tool_that_tells_the_path_is_named(tmp_path: Path) -> None:
    """An answer with the folder that the oracle reads is a way in; one without it is none."""
    path = ReadPath("fs", final=True, where={"root": str(tmp_path)})
    assert await door(f"filed in {tmp_path}", path).reach() == [
        "the tool about tells where or by what the oracle reads"
    ]
    assert await door("filed", path).reach() == []


@pytest.mark.anyio
async def test_it_writes_to_the_folder(tmp_path: Path) -> None:
    """Its writes are the folder's."""
    opened = door("", ReadPath("fs", final=True, where={"root": str(tmp_path), "table": "invoices"}))
    assert list(await opened.tables()) == ["invoices"]
    await opened.insert("invoices", {"path": "a.txt", "text": "one"})
    assert await opened.update("invoices", {"path": "a.txt"}, {"text": "two"}) == 1
    assert (tmp_path / "a.txt").read_text() == "two"
    assert await opened.delete("invoices", {"path": "a.txt"}) == 1


def test_a_record_behind_a_service_has_none() -> None:
    """Where only a service of somebody else writes the record, there is no way around it."""
    assert door("", ReadPath("rest", final=False, where={"url": "http://127.0.0.1:1"})) is None
    assert door("", ReadPath("sql", final=False, where={"url": "postgresql://elsewhere/db"})) is None
    assert door("", ReadPath("sql", final=False, where={"url": "sqlite:///x"}), database_path="x") is not None
