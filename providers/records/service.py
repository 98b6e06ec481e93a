"""The service process: ``python -m providers.records.service BASE``.

It serves the application on a loopback port that the system chooses, and tells the port as one line of JSON on
standard output: ``{"port": N}``. It lives as long as its standard input is open: that is a pipe of its worker, which
closes however the worker ends. Then it removes the shared directory and is gone.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import orjson
import uvicorn

from providers.records.access import Accesses
from providers.records.app import make_app
from providers.records.leases import Base
from spec.clock import SystemClock

LOOPBACK = "127.0.0.1"
BACKLOG = 1024


def _live_as_long_as_the_worker(base: Base) -> None:
    """Read the worker's pipe until it closes; then go, whatever is still on its way."""
    with open(0, "rb", buffering=0, closefd=False) as pipe:
        while pipe.read(1):
            pass
    base.remove()
    os._exit(0)


def main() -> None:
    """Serve until the worker is gone."""
    base = Base(Path(sys.argv[1]))
    threading.Thread(target=_live_as_long_as_the_worker, args=(base,), daemon=True).start()
    # Its protocol is named, or asyncio leaves Nagle's algorithm on and each answer waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((LOOPBACK, 0))
    listener.listen(BACKLOG)
    access = Accesses()
    settings = uvicorn.Config(
        make_app(base, access, SystemClock()),
        access_log=False,
        log_level="critical",
        lifespan="off",
        timeout_keep_alive=60,
    )
    os.write(1, orjson.dumps({"port": listener.getsockname()[1]}) + b"\n")
    uvicorn.Server(settings).run(sockets=[listener])


if __name__ == "__main__":
    main()
