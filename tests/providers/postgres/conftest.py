"""What the tests of PostgreSQL share: a loop that waits for a real server, in real time."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """A server answers in real time, so the loop must not jump."""
    return "asyncio"
