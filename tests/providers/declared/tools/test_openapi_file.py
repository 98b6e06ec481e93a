"""An OpenAPI file becomes tools whose schemas end, or is refused where it is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.declared.tools.openapi_file import read_operations
from spec.errors import ConfigError


def document(**more: Any) -> dict[str, Any]:
    close = {
        "operationId": "closeTicket",
        "summary": "Close a ticket.",
        "parameters": [{"$ref": "#/components/parameters/Dry"}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Closing"}}},
        },
        "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}},
    }
    return {
        "openapi": "3.0.3",
        "paths": {
            "/tickets/{ticketNumber}/close": {
                "parameters": [{"name": "ticketNumber", "in": "path", "required": True, "schema": {"type": "integer"}}],
                "post": close,
            },
            "/health": {"get": {"responses": {}}},
        },
        "components": {
            "parameters": {
                "Dry": {"name": "dry", "in": "query", "schema": {"type": "boolean"}, "description": "only try"}
            },
            "schemas": {
                "Closing": {
                    "type": "object",
                    "properties": {
                        "note": {"type": "string", "nullable": True},
                        "hours": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    },
                },
                "Tree": {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Tree"}}},
            },
        },
        **more,
    }


def written(folder: Path, content: object) -> Path:
    file = folder / "api.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_an_operation_becomes_a_tool(tmp_path: Path) -> None:
    """Arguments come from path, query and body, references are resolved, and words of 3.0 become JSON Schema."""
    (one,) = read_operations(written(tmp_path, document()), ["*"])
    assert (one.method, one.path, one.in_query, one.has_body) == (
        "POST",
        "/tickets/{ticketNumber}/close",
        frozenset({"dry"}),
        True,
    )
    assert (one.tool.name, one.tool.description) == ("closeTicket", "Close a ticket.")
    assert one.tool.parameters == {
        "type": "object",
        "properties": {
            "ticketNumber": {"type": "integer"},
            "dry": {"type": "boolean", "description": "only try"},
            "body": {
                "type": "object",
                "properties": {
                    "note": {"type": ["string", "null"]},
                    "hours": {"type": "number", "exclusiveMinimum": 0},
                },
            },
        },
        "required": ["ticketNumber", "body"],
        "additionalProperties": False,
    }


def test_yaml_is_read_as_well(tmp_path: Path) -> None:
    """The same document, the same tools."""
    file = tmp_path / "api.yaml"
    file.write_text(yaml.safe_dump(document()), encoding="utf-8")
    assert read_operations(file, ["close*"]) == read_operations(written(tmp_path, document()), ["*"])


def with_body(schema: object, **schemas: object) -> dict[str, Any]:
    changed = document()
    operation = changed["paths"]["/tickets/{ticketNumber}/close"]["post"]
    operation["requestBody"]["content"]["application/json"]["schema"] = schema
    changed["components"]["schemas"] |= schemas
    return changed


def test_a_loop_is_refused_with_its_way_round(tmp_path: Path) -> None:
    """By the references that it goes through."""
    other = {"properties": {"tree": {"$ref": "#/components/schemas/One"}}}
    looped = with_body(
        {"$ref": "#/components/schemas/One"}, One={"items": {"$ref": "#/components/schemas/Two"}}, Two=other
    )
    way = "#/components/schemas/One -> #/components/schemas/Two -> #/components/schemas/One"
    with pytest.raises(ConfigError) as caught:
        read_operations(written(tmp_path, looped), ["*"])
    assert way in str(caught.value)
    assert "paths./tickets/{ticketNumber}/close.post.requestBody" in caught.value.key


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"swagger": "2.0"}, "no OpenAPI 3 file"),
        ([], "no OpenAPI 3 file"),
        (with_body({"$ref": "#/components/schemas/Gone"}), "leads nowhere"),
        (with_body({"$ref": "other.yaml#/Thing"}), "leads out of the file"),
        (with_body({"type": "integr"}), "has no JSON Schema"),
        (document(paths={"/a/{b}": {"get": {"operationId": "a"}}}), "is no path parameter"),
        (document(paths={"/a": {"get": {"operationId": "a"}, "put": {"operationId": "a"}}}), "several operations"),
        (document(paths={"/a": {"get": {"operationId": "a", "parameters": [3]}}}), "no table"),
        (
            document(
                paths={
                    "/a": {
                        "get": {
                            "operationId": "a",
                            "parameters": [{"name": "X", "in": "header", "required": True, "schema": {}}],
                        }
                    }
                }
            ),
            "needs the header 'X'",
        ),
    ],
)
def test_what_cannot_be_a_tool_is_refused(tmp_path: Path, content: object, words: str) -> None:
    """Each with its reason and the file."""
    with pytest.raises(ConfigError, match=words) as caught:
        read_operations(written(tmp_path, content), ["*"])
    assert caught.value.file.endswith("api.json")


def test_a_glob_that_takes_nothing_and_a_broken_file_are_told(tmp_path: Path) -> None:
    """With the nearest name, or the line."""
    with pytest.raises(ConfigError, match="did you mean 'closeTicket'"):
        read_operations(written(tmp_path, document()), ["closeTiket"])
    for name, text in (("a.json", '{"a": 1,\n}'), ("a.yaml", "a: 1\nb: [\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match="is not") as caught:
            read_operations(tmp_path / name, ["*"])
        assert caught.value.line


def test_references_that_unfold_without_measure_are_refused(tmp_path: Path) -> None:
    """A small file cannot become a schema of millions of values."""
    schemas = {
        f"S{level}": {"properties": {f"p{n}": {"$ref": f"#/components/schemas/S{level + 1}"} for n in range(10)}}
        for level in range(8)
    }
    with pytest.raises(ConfigError, match="unfolds to more than"):
        read_operations(written(tmp_path, with_body({"$ref": "#/components/schemas/S0"}, **schemas, S8={})), ["*"])


PARAMETER = """openapi: "3.0.3"
paths:
  /t/{n}:
    get:
      operationId: read
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('openapi: "3.0.3"\nday: 2026-13-45\n', "is not YAML"),
        ('openapi: "3.0.3"\nday: !!int "abc"\n', "is not YAML"),
        (PARAMETER + "      parameters: 5\n", "a parameter that is no table"),
        (PARAMETER.replace("    get:", "    parameters: 5\n    get:"), "a parameter that is no table"),
        (PARAMETER + "      parameters: [{name: [n], in: path}]\n", "without name or place"),
        (PARAMETER + "      parameters: [{name: n, in: {a: b}}]\n", "without name or place"),
        (PARAMETER + "      parameters: [{name: n, in: path, schema: 5}]\n", "a schema that is no table"),
        (PARAMETER + "      parameters: [{name: n, in: path, schema: {nullable: true, type: string, enum: 5}}]\n", "5"),
        (PARAMETER + "      parameters: [{name: n, in: path, schema: {default: !!set {a}}}]\n", "JSON cannot hold"),
        (PARAMETER + "      parameters: [{name: n, in: path}]\n      requestBody: {content: 5}\n", "content that"),
        (PARAMETER.replace("read", "[read]"), "operationId that is no text"),
    ],
)
def test_a_value_of_another_kind_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    """Whatever YAML can hold where OpenAPI has a table, a list or a text is one refusal, never an error of Python's."""
    file = tmp_path / "api.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        read_operations(file, ["*"])
