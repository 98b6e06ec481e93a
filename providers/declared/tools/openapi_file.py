"""Reads an OpenAPI 3 file: every operation with an operationId becomes a tool with a JSON Schema.

``$ref`` is resolved, wherever it stands; one that leads back to itself is refused with its way round, since the schema
of a call has to end. Path and query parameters are arguments under their own names, a JSON body is the argument
``body``. What version 3.0 says in words of its own (``nullable``, a boolean ``exclusiveMinimum``) is put as JSON Schema
puts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from providers.declared.answers import at_pointer
from providers.declared.tools.base import object_schema
from spec.canonical import JsonObject, canonical_json
from spec.environment import Tool
from spec.errors import ConfigError
from spec.text import clean, nearest

FILE_BYTES_MAX: Final = 4 * 1024 * 1024
NODES_MAX: Final = 200_000
DEPTH_MAX: Final = 100
BODY: Final = "body"
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_IN_PATH: Final = re.compile(r"\{([^{}]+)\}")
_JSON_TYPE: Final = re.compile(r"application/(?:json|[\w.+-]+\+json)(?:;.*)?")


class Operation(NamedTuple):
    """One operation, ready to be a tool.

    Attributes:
        path: the template of its path, with ``{name}`` as OpenAPI has it.
        in_query: the arguments that go into the query.
        has_body: whether the argument ``body`` is sent.
    """

    tool: Tool
    method: str
    path: str
    in_query: frozenset[str]
    has_body: bool


def read_operations(file: Path, globs: Sequence[str]) -> tuple[Operation, ...]:
    """The operations whose operationId one of the globs takes, in the file's order.

    Raises:
        ConfigError: the file is none of OpenAPI 3, a reference leads nowhere or round in a circle, or a glob takes
            nothing.
    """
    reader = _Reader(file, _document(file))
    found = list(reader.operations())
    names = [operation.tool.name for operation in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name!r} is the operationId of several operations", file=str(file))
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            raise ConfigError(f"no operationId is {glob!r}", file=str(file), hint=nearest(glob, names))
    return tuple(one for one in found if any(fnmatchcase(one.tool.name, glob) for glob in globs))


def _document(file: Path) -> Mapping[str, Any]:
    import yaml

    try:
        data = file.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(file)) from None
    if len(data) > FILE_BYTES_MAX:
        raise ConfigError(f"is larger than {FILE_BYTES_MAX} bytes", file=str(file))
    try:
        document = orjson.loads(data) if file.suffix == ".json" else yaml.safe_load(data)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"is not JSON: {error.msg}", file=str(file), line=error.lineno) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())[:200]}", file=str(file), line=line) from None
    except RecursionError:
        raise ConfigError("is nested too deep", file=str(file)) from None
    except ValueError as error:  # a date or a number that YAML takes for one and Python does not
        raise ConfigError(f"is not YAML: {' '.join(str(error).split())[:200]}", file=str(file)) from None
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise ConfigError('is no OpenAPI 3 file: it needs openapi: "3..."', file=str(file), key="openapi")
    return document


class _Reader:
    """One walk over a document; ``nodes`` is bounded, since aliases and references can unfold without end."""

    def __init__(self, file: Path, document: Mapping[str, Any]) -> None:
        self._file, self._document, self._nodes = file, document, 0

    def operations(self) -> Iterator[Operation]:
        paths = self._document.get("paths") or {}
        if not isinstance(paths, dict):
            raise self._refused("must be a table", "paths")
        for path, written in paths.items():
            item = written
            if isinstance(item, dict) and isinstance(item.get("$ref"), str):
                item = self._target(item["$ref"], f"paths.{path}", ())
            if not isinstance(item, dict) or not str(path).startswith("/"):
                raise self._refused('must be a path such as "/tickets/{number}"', f"paths.{path}")
            for method in _METHODS:
                operation = item.get(method)
                if isinstance(operation, dict) and "operationId" in operation:
                    yield self._operation(str(path), method, operation, item.get("parameters"))

    def _operation(self, path: str, method: str, written: Mapping[str, Any], common: object) -> Operation:
        where, name = f"paths.{path}.{method}", written["operationId"]
        if not isinstance(name, str) or not name:
            raise self._refused("has an operationId that is no text", where)
        parameters = self._parameters([common, written.get("parameters")], where)
        properties: dict[str, Any] = {}
        required: list[str] = []
        in_query: set[str] = set()
        for (place, argument), parameter in parameters.items():
            self._check_parameter(place, argument, parameter, properties, where)
            if place not in ("path", "query"):
                continue
            properties[argument] = _described(self._table(parameter.get("schema"), "schema", where), parameter)
            if place == "query":
                in_query.add(argument)
            if place == "path" or parameter.get("required"):
                required.append(argument)
        for argument in _IN_PATH.findall(path):
            if argument not in properties or argument in in_query:
                raise self._refused(f"{{{argument}}} is no path parameter", where)
        sent = self._resolved(written.get("requestBody"), f"{where}.requestBody", ())
        body = self._body(sent, where)
        if body is not None:
            properties[BODY] = body
            if sent.get("required"):
                required.append(BODY)
        text = str(written.get("summary") or written.get("description") or name)[:4096]
        tool = Tool(name, text, self._checked(object_schema(properties, required), where))
        return Operation(tool, method.upper(), path, frozenset(in_query), body is not None)

    def _parameters(self, lists: Sequence[object], where: str) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Those of an operation and of its path by place and name; the operation's own come last, and win."""
        found: dict[tuple[str, str], Mapping[str, Any]] = {}
        for listed in self._resolved([one or [] for one in lists], f"{where}.parameters", ()):
            if not isinstance(listed, list) or not all(isinstance(parameter, dict) for parameter in listed):
                raise self._refused("has a parameter that is no table", where)
            for parameter in listed:
                place, name = parameter.get("in"), parameter.get("name")
                if not isinstance(name, str) or place not in ("path", "query", "header", "cookie"):
                    raise self._refused("has a parameter without name or place", where)
                found[place, name] = parameter
        return found

    def _table(self, value: object, what: str, where: str) -> Mapping[str, Any]:
        if not isinstance(value or {}, dict):
            raise self._refused(f"has a {what} that is no table", where)
        table: Mapping[str, Any] = value or {}  # type: ignore[assignment]  # as just seen
        return table

    def _check_parameter(
        self, place: str, name: str, parameter: Mapping[str, Any], known: Mapping[str, Any], where: str
    ) -> None:
        if place in ("path", "query") and (name in known or name == BODY):
            raise self._refused(f"has two arguments of the name {name!r}", where)
        if place in ("header", "cookie") and parameter.get("required"):
            raise self._refused(
                f"needs the {place} {name!r}, which no agent can give; see tools.openapi.headers", where
            )

    def _body(self, written: object, where: str) -> Mapping[str, Any] | None:
        if not isinstance(written, dict):
            return None
        content = self._table(written.get("content"), "content", where)
        for kind, media in content.items():
            if _JSON_TYPE.fullmatch(str(kind)):
                schema = media.get("schema") if isinstance(media, dict) else None
                return schema if isinstance(schema, dict) else {}
        raise self._refused(f"takes no JSON, but {', '.join(map(str, content)) or 'nothing'}", where)

    def _checked(self, schema: JsonObject, where: str) -> JsonObject:
        from jsonschema import Draft202012Validator, SchemaError

        try:
            Draft202012Validator.check_schema(schema)
            canonical_json(schema)
        except SchemaError as error:
            raise self._refused(f"has no JSON Schema: {clean(error.message)}", where) from None
        except (TypeError, ValueError) as error:  # a date, a set or bytes of YAML's own
            raise self._refused(f"has a schema that JSON cannot hold: {error}", where) from None
        return schema

    def _resolved(self, value: Any, where: str, way: tuple[str, ...], depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
        self._nodes += 1
        if self._nodes > NODES_MAX or depth > DEPTH_MAX:
            raise self._refused(f"unfolds to more than {NODES_MAX} values or {DEPTH_MAX} levels", where)
        if isinstance(value, list):
            return [self._resolved(item, where, way, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        reference = value.get("$ref")
        if isinstance(reference, str):
            return self._resolved(self._target(reference, where, way), where, (*way, reference), depth + 1)
        return _modern({str(key): self._resolved(item, where, way, depth + 1) for key, item in value.items()})

    def _target(self, reference: str, where: str, way: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
        if reference in way:
            circle = " -> ".join((*way[way.index(reference) :], reference))
            raise self._refused(f"a reference leads back to itself: {circle}", where)
        if not reference.startswith("#"):
            raise self._refused(f"{reference!r} leads out of the file", where)
        try:
            return at_pointer(dict(self._document), reference[1:])
        except LookupError:
            raise self._refused(f"{reference!r} leads nowhere", where) from None

    def _refused(self, reason: str, where: str) -> ConfigError:
        return ConfigError(reason, file=str(self._file), key=where)


def _described(schema: Mapping[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    text = parameter.get("description")
    return {"description": text, **schema} if isinstance(text, str) else dict(schema)


def _modern(schema: dict[str, Any]) -> dict[str, Any]:
    """A table as JSON Schema has it today, where it is a schema of OpenAPI 3.0."""
    if schema.get("nullable") is True and isinstance(schema.get("type"), str):
        schema = {**schema, "type": [schema["type"], "null"]}
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("nullable"), bool):
        del schema["nullable"]
    for bound, open_bound in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(open_bound), bool) and schema.pop(open_bound) and bound in schema:
            schema[open_bound] = schema.pop(bound)
    return schema
