"""Services for the benchmark of readings: a JSON service and a FHIR server over the same made-up encounters.

They run in a process of its own, as services do; it serves until its standard input ends, so it goes when its parent
does.
"""

from __future__ import annotations

import atexit
import socket
import subprocess
import sys
import threading
from typing import Any, Final

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PAGE_ROWS: Final = 100
NOTE: Final = "seen at the desk, sent on to the ward"
CLASS: Final = {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"}
STOP_S_MAX: Final = 10.0


def start_services(rows: int) -> str:
    """Start both services with some rows; they end with this process. Returns their URL."""
    command = [sys.executable, "-c", f"from benchmarks.record_services import serve; serve({rows:d})"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    atexit.register(child.wait, STOP_S_MAX)
    atexit.register(child.stdin.close)  # runs first
    return child.stdout.readline().strip()


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "patient": f"p{number % 977}",
        "note": f"{NOTE} {number}",
        "amount": number * 0.25,
        "at": "2026-01-31T12:00:00Z",
    }


def _entry(number: int) -> dict[str, Any]:
    encounter = {
        "resourceType": "Encounter",
        "id": f"e{number}",
        "meta": {"versionId": "1", "lastUpdated": "2026-01-31T12:00:00Z"},
        "status": "finished",
        "class": CLASS,
        "subject": {"reference": f"Patient/p{number % 977}"},
        "period": {"start": "2026-01-31T12:00:00Z"},
        "reasonCode": [{"text": f"{NOTE} {number}"}],
    }
    return {"fullUrl": f"urn:e{number}", "resource": encounter, "search": {"mode": "match"}}


def _app(count: int) -> Starlette:
    rows, entries = [_row(number) for number in range(count)], [_entry(number) for number in range(count)]

    async def encounters(request: Request) -> Response:
        after, following = _after(request, "offset", count)
        page = {"rows": rows[after - PAGE_ROWS : after], "total": count, "next": following}
        return Response(orjson.dumps(page), media_type="application/json")

    async def search(request: Request) -> Response:
        after, following = _after(request, "at", count)
        links = [{"relation": "next", "url": following}] if following else []
        page = {"resourceType": "Bundle", "type": "searchset", "total": count, "link": links}
        bundle = {**page, "entry": entries[after - PAGE_ROWS : after]}
        return Response(orjson.dumps(bundle), media_type="application/fhir+json")

    return Starlette(routes=[Route("/api/encounters", encounters), Route("/r4/Encounter", search)])


def _after(request: Request, name: str, count: int) -> tuple[int, str | None]:
    after = int(request.query_params.get(name, 0)) + PAGE_ROWS
    return after, str(request.url.include_query_params(**{name: after})) if after < count else None


def serve(rows: int) -> None:
    """Print the URL, and serve until standard input ends."""
    # named as TCP, since asyncio switches Nagle's delays off for no other socket
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(_app(rows), log_level="critical", ws="none"))

        def stop_with_parent() -> None:
            sys.stdin.read()
            server.should_exit = True

        threading.Thread(target=stop_with_parent, daemon=True).start()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        server.run(sockets=[listener])
