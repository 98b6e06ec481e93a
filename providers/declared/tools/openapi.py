"""The operations of an OpenAPI file as tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from providers.declared.answers import Answer
from providers.declared.model import OpenApiTools
from providers.declared.requests import Requests, filled_headers
from providers.declared.templates import fill_url, quoted
from providers.declared.tools.base import BoundTool
from providers.declared.tools.http import Endpoint, send
from providers.declared.tools.openapi_file import BODY, Operation
from spec.canonical import Json, JsonObject

_IN_PATH: Final = re.compile(r"\{([^{}]+)\}")


def openapi_tool(
    declared: OpenApiTools, operation: Operation, requests: Requests, values: Mapping[str, Json]
) -> BoundTool:
    """The tool of one trial.

    Raises:
        ProviderFault: a header cannot be filled in.
    """
    endpoint = Endpoint(
        operation.tool.name,
        operation.method,
        fill_url(declared.url, values).rstrip("/"),
        operation.in_query,
        filled_headers(declared.headers, declared.token_env, values),
        declared.deadline_s,
        declared.on_timeout == "fault",
    )
    return BoundTool(operation.tool, partial(_call, endpoint, operation, requests))


async def _call(endpoint: Endpoint, operation: Operation, requests: Requests, arguments: JsonObject) -> Answer:
    path = _IN_PATH.sub(lambda match: quoted(arguments[match[1]]), operation.path)
    query = {name: value for name, value in arguments.items() if name in operation.in_query}
    with_body = operation.has_body and BODY in arguments
    return await send(endpoint, requests, endpoint.url + path, query, arguments.get(BODY), with_body=with_body)
