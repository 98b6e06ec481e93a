"""The published schemas and the check of a call say the same."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.mockmed.tools import TEXT_CHARS_MAX, TOOL_NAMES, call_problems, published_tools

TOOLS = {tool.name: tool for tool in published_tools()}
VALUE = st.one_of(
    st.none(), st.integers(), st.text(max_size=4), st.sampled_from(["p1", "Triage", "form_save", "draft-1"])
)
NAME = st.sampled_from(["patient_id", "name", "birth_date", "type", "note", "encounter", "control", "colour"])


def test_the_seven_tools() -> None:
    """An agent can list, look up, read a chart, start, edit and save an encounter, and read the screen."""
    assert set(TOOL_NAMES) == {
        "list_patients",
        "find_patients",
        "read_chart",
        "start_encounter",
        "edit_encounter",
        "save_encounter",
        "read_screen",
    }
    assert set(TOOLS) == set(TOOL_NAMES)
    assert all(tool.description.endswith(".") for tool in TOOLS.values())


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_every_schema_is_a_schema(name: str) -> None:
    """The arguments of each tool are a valid JSON Schema of a closed object."""
    schema: Any = TOOLS[name].parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False


@given(name=st.sampled_from(TOOL_NAMES), arguments=st.dictionaries(NAME, VALUE, max_size=4))
def test_the_check_agrees_with_the_schema(name: str, arguments: dict[str, object]) -> None:
    """A call has problems exactly where a JSON Schema validator finds some."""
    validator = jsonschema.Draft202012Validator(TOOLS[name].parameters)
    assert (call_problems(name, arguments) == []) is validator.is_valid(arguments)  # type: ignore[arg-type]  # also non-JSON


def test_text_is_bounded_and_whole() -> None:
    """Text that is too long or cannot be written as UTF-8 is refused."""
    assert call_problems("find_patients", {"name": "n" * TEXT_CHARS_MAX}) == []
    assert "at most" in call_problems("find_patients", {"name": "n" * (TEXT_CHARS_MAX + 1)})[0]
    assert "lone surrogate" in call_problems("find_patients", {"name": "\ud800"})[0]


def test_a_changed_schema_changes_no_check() -> None:
    """An arm that edits a published schema does not widen what is accepted."""
    schema: Any = published_tools()[TOOL_NAMES.index("read_screen")].parameters
    schema["additionalProperties"] = True
    assert call_problems("read_screen", {"x": "y"}) == ["read_screen has no argument 'x'"]
