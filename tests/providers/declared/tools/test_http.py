"""Endpoints, listed or of an OpenAPI file, get each argument where it belongs; a service that is silent is a fault."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from spec.errors import ConfigErrors, ProviderFault
from tests.providers.declared.conftest import Declare
from tests.providers.declared.service import Service, serving


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as made:
        yield made


def listed(service: Service, **more: Any) -> dict[str, Any]:
    return {
        "http": [
            {
                "name": "close_ticket",
                "description": "Close a ticket.",
                "url": f"{service.url}/tickets/{{number}}/close",
                "query": ["dry"],
                "parameters": {
                    "number": {"type": "string"},
                    "note": {"type": "string"},
                    "dry": {"type": "boolean"},
                },
                "required": ["number"],
                **more,
            }
        ]
    }


def working(provider: Any, work: Callable[[Any], Awaitable[object]]) -> Any:
    """What a piece of work answers that is given the environment of one trial."""

    async def body() -> object:
        task = provider.tasks()[0]
        fixture = await provider.open(task, provider.payload(task, 0, 0))
        try:
            return await work(fixture.environment)
        finally:
            await fixture.close()
            await provider.close()

    return anyio.run(body)


def prepared(written: dict[str, Any], tools: dict[str, Any]) -> dict[str, Any]:
    """The desk with other tools, and without a scripted action."""
    written["tools"] = tools
    del written["action"]
    return written


def test_arguments_go_where_they_belong(
    service: Service, written: dict[str, Any], declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path and query are quoted, the rest is JSON, and the token comes from the environment."""
    monkeypatch.setenv("DESK_TOKEN", "t0ken")
    provider = declare(prepared(written, listed(service, token_env="DESK_TOKEN")))
    call = {"number": "7/../8?x", "note": "a & b", "dry": True}
    answer = working(provider, lambda environment: environment.call("close_ticket", call))
    assert answer == {"status": 200, "body": {"message": "closed"}}
    assert service.requests == [
        {
            "method": "POST",
            "path": "/tickets/7%2F..%2F8%3Fx/close",
            "query": "dry=true",
            "token": "Bearer t0ken",
            "body": {"note": "a & b"},
        }
    ]


def test_an_error_of_the_service_is_an_answer(service: Service, written: dict[str, Any], declare: Declare) -> None:
    """The agent sees status and body, a redirect is not followed."""
    service.answers = {"/tickets/1/close": (409, "no"), "/tickets/2/close": (302, None)}
    provider = declare(prepared(written, listed(service)))

    async def work(environment: Any) -> list[Any]:
        return [await environment.call("close_ticket", {"number": number}) for number in ("1", "2")]

    assert working(provider, work) == [{"status": 409, "body": "no"}, {"status": 302, "body": None}]
    assert len(service.requests) == 2


def test_a_late_answer_is_what_the_declaration_says(
    service: Service, written: dict[str, Any], declare: Declare
) -> None:
    """A fault that is nobody's verdict, or an answer that the agent sees."""
    service.answers = {"/tickets/1/close": 1.0}
    provider = declare(prepared(written, listed(service, deadline_s=0.2)))
    with pytest.raises(ProviderFault, match=r"not answered within 0\.2 s"):
        working(provider, lambda environment: environment.call("close_ticket", {"number": "1"}))
    provider = declare(written | {"tools": listed(service, deadline_s=0.2, on_timeout="answer")})
    answer = working(provider, lambda environment: environment.call("close_ticket", {"number": "1"}))
    assert answer == {"status": 0, "body": "no answer within 0.2 s"}


def test_nobody_there_and_too_much_are_faults(service: Service, written: dict[str, Any], declare: Declare) -> None:
    """Neither is the agent's."""
    service.answers = {"/tickets/1/close": (200, "x" * 1000)}
    small = listed(service) | {"answer_bytes_max": 256}
    with pytest.raises(ProviderFault, match="more than 256 bytes"):
        working(declare(prepared(written, small)), lambda e: e.call("close_ticket", {"number": "1"}))
    nowhere = listed(service, url="http://127.0.0.1:9/x")
    with pytest.raises(ProviderFault, match="ConnectError"):
        working(declare(written | {"tools": nowhere}), lambda e: e.call("close_ticket", {"number": "1"}))


def api(folder: Path) -> dict[str, Any]:
    close = {
        "operationId": "closeTicket",
        "parameters": [
            {"name": "n", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
    }
    document = {"openapi": "3.1.0", "paths": {"/tickets/{n}": {"put": close}}}
    (folder / "api.json").write_text(json.dumps(document), encoding="utf-8")
    return document


def test_an_operation_is_called_by_its_id(
    service: Service, written: dict[str, Any], declare: Declare, tmp_path: Path
) -> None:
    """By an agent and by the scripted action, whose arguments are checked against the file."""
    api(tmp_path)
    written["tools"] = {"openapi": {"file": "api.json", "url": f"{service.url}/v1"}}
    written["action"] = {"tool": "closeTicket", "arguments": {"n": "{number}", "body": {"note": "{note}"}}}
    provider = declare(written)
    params = provider.payload(provider.tasks()[0], 0, 0).params

    async def work(environment: Any) -> Any:
        await environment.call("closeTicket", {"n": 5, "tags": ["a", "b c"]})
        return await environment.attempt_intended_action()

    assert working(provider, work).saved
    assert [(one["path"], one["query"], one["body"]) for one in service.requests] == [
        ("/v1/tickets/5", "tags=a&tags=b+c", None),
        (f"/v1/tickets/{params['number']}", "", {"note": params["note"]}),
    ]
    written["action"]["tool"] = "closeTiket"
    with pytest.raises(ConfigErrors, match=r"action.tool: there is no tool 'closeTiket' \(did you mean 'closeTicket'"):
        declare(written)


def test_a_reset_by_requests_hands_on_what_it_made(service: Service, written: dict[str, Any], declare: Declare) -> None:
    """What is kept of an answer stands in the read path; another status is the provider's fault."""
    service.answers = {"/tenants": (201, {"tenant": {"id": "t 7"}})}
    written["reset"] = {
        "http": [{"url": f"{service.url}/tenants", "json": {"for": "{note}"}, "keep": {"tenant": "/tenant/id"}}]
    }
    written["record"] |= {"channel": "rest", "where": {"url": f"{service.url}/{{tenant}}"}, "final": False}
    written |= {"tools": listed(service)}
    del written["action"]
    provider = declare(written)

    async def body() -> Any:
        task = provider.tasks()[0]
        payload = provider.payload(task, 0, 0)
        fixture = await provider.open(task, payload)
        assert service.requests[0]["body"] == {"for": payload.params["note"]}
        await fixture.close()
        service.answers = {"/tenants": (500, None)}
        with pytest.raises(ProviderFault, match="was answered with 500"):
            await provider.open(task, payload)
        await provider.close()
        return fixture.read_path

    assert anyio.run(body).where == {"url": f"{service.url}/t 7"}
