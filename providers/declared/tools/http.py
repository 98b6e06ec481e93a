"""An endpoint as a tool: arguments go into the path, the query or the body, each quoted as it has to be there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, NamedTuple

from providers.declared.answers import Answer, late
from providers.declared.model import HttpTool
from providers.declared.requests import Requests, filled_headers, query_pairs
from providers.declared.templates import fill_url, names_in
from providers.declared.tools.base import BoundTool, published
from spec.canonical import Json, JsonObject
from spec.errors import ProviderFault

_WITHOUT_BODY: Final = ("GET", "DELETE")


class Endpoint(NamedTuple):
    """Where and how a call is sent.

    Attributes:
        url: a template; its places are arguments, or values of the trial.
        query: the arguments that go into the query.
        headers: filled in already.
        fault_when_late: a missing answer is the environment's fault.
    """

    name: str
    method: str
    url: str
    query: frozenset[str]
    headers: Mapping[str, str]
    deadline_s: float
    fault_when_late: bool


def http_tool(declared: HttpTool, requests: Requests, values: Mapping[str, Json]) -> BoundTool:
    """The tool of one trial.

    Raises:
        ProviderFault: a header cannot be filled in.
    """
    in_path = set(names_in(declared.url))
    query = {*declared.query}
    if declared.method in _WITHOUT_BODY:
        query |= set(declared.parameters) - in_path
    endpoint = Endpoint(
        declared.name,
        declared.method,
        declared.url,
        frozenset(query),
        filled_headers(declared.headers, declared.token_env, values),
        declared.deadline_s,
        declared.on_timeout == "fault",
    )
    return BoundTool(published(declared), partial(_call, endpoint, frozenset(in_path), requests, values))


async def _call(
    endpoint: Endpoint,
    in_path: frozenset[str],
    requests: Requests,
    values: Mapping[str, Json],
    arguments: JsonObject,
) -> Answer:
    body = {name: value for name, value in arguments.items() if name not in in_path | endpoint.query}
    query = {name: value for name, value in arguments.items() if name in endpoint.query}
    given = {name: "" for name in in_path if name not in values} | dict(values) | dict(arguments)
    with_body = endpoint.method not in _WITHOUT_BODY
    return await send(endpoint, requests, fill_url(endpoint.url, given), query, body, with_body=with_body)


async def send(
    endpoint: Endpoint, requests: Requests, url: str, query: JsonObject, body: Json, *, with_body: bool
) -> Answer:
    """Send a call; a missing answer is what the endpoint says it is.

    Raises:
        ProviderFault: nobody answers, or too late.
    """
    try:
        return await requests.send(
            endpoint.method,
            url,
            deadline_s=endpoint.deadline_s,
            headers=endpoint.headers,
            query=query_pairs(query),
            body=body,
            with_body=with_body,
        )
    except TimeoutError:
        if endpoint.fault_when_late:
            what = f"tool {endpoint.name} was not answered within {endpoint.deadline_s:g} s"
            raise ProviderFault(what) from None
        return late(endpoint.deadline_s)
