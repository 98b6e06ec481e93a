"""A small service for the tests: every request is noted, and answered as the test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Service(ThreadingHTTPServer):
    """Notes requests; ``answers`` maps a path to (status, body) or to seconds that the answer takes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.answers: dict[str, tuple[int, Any] | float] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Service

    def _answer(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        noted = {"method": self.command, "path": path, "query": query, "token": self.headers.get("Authorization")}
        self.server.requests.append(noted | {"body": json.loads(data) if data else None})
        found = self.server.answers.get(path, (200, {"message": "closed"}))
        if isinstance(found, float):
            time.sleep(found)
            return
        status, body = found
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - the names that the standard library looks for

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Service]:
    """A service on a free port of loopback, until the end of the block."""
    with Service() as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()
