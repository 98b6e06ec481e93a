"""A PostgreSQL server for the tests that need one: started once a session, with a fresh database a test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import anyio
import pytest

if TYPE_CHECKING:
    from providers.postgres import EmbeddedServer


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[EmbeddedServer]:
    """An embedded server with its three logins; it also listens on 127.0.0.1."""
    from providers.postgres import ServerSettings, start_server
    from spec.clock import SystemClock

    server = anyio.run(start_server, ServerSettings(tcp=True), SystemClock())
    yield server
    anyio.run(server.stop)


@pytest.fixture
def postgres_database(postgres_server: EmbeddedServer) -> Iterator[str]:
    """The name of an empty database that all three roles may enter; dropped behind the test."""
    import psycopg

    owner, name = postgres_server.logins.owner, "fresh"
    with psycopg.connect(**owner.arguments("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield name
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
