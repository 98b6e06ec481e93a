from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest

from providers.postgres import EmbeddedServer, check_server, existing_logins
from spec.errors import ConfigError


def dsn(server: EmbeddedServer, password: str | None = None) -> str:
    owner = server.logins.owner
    return f"postgresql+psycopg://{owner.user}:{password or owner.password}@127.0.0.1:{server.port}/postgres"


def test_an_address_gives_two_logins(postgres_server: EmbeddedServer) -> None:
    """The run's own login comes from the address; the oracle's has the same server, its own role and no password."""
    address = f"{dsn(postgres_server)}?sslmode=disable"
    logins = existing_logins("HERE", "oracle", {"HERE": address})
    assert logins.owner is logins.app
    assert (logins.oracle.user, logins.oracle.password) == ("oracle", None)
    assert (
        logins.oracle.url("d")
        == f"postgresql+psycopg://oracle@/d?host=127.0.0.1&port={postgres_server.port}&sslmode=disable"
    )
    check_server(logins)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "HERE is not set"),
        ("postgresql://", "holds no address"),
        ("no address at all with s3cret", "holds no address"),
        ("postgresql://user:s3cret@host:notaport/x", "holds no address"),
    ],
)
def test_what_is_no_address_is_not_shown(text: str, says: str) -> None:
    """A variable that is missing or holds no address is named, and what it holds is not shown."""
    with pytest.raises(ConfigError, match=says) as caught:
        existing_logins("HERE", "oracle", {"HERE": text})
    assert "s3cret" not in str(caught.value)


def test_the_oracle_needs_its_own_role(postgres_server: EmbeddedServer) -> None:
    """Without a role for the oracle, or with one that is not there or may write, there is no run."""
    environment = {"HERE": dsn(postgres_server)}
    with pytest.raises(ConfigError, match="role of its own"):
        existing_logins("HERE", "", environment)
    for role, says in (("nobody_here", "no role nobody_here"), ("provider", "more than read")):
        with pytest.raises(ConfigError, match=says):
            check_server(existing_logins("HERE", role, environment))


def test_a_wrong_password_is_one_sentence(postgres_server: EmbeddedServer) -> None:
    """A server that refuses the password is told in one line, which does not show it."""
    with pytest.raises(ConfigError, match="password authentication failed") as caught:
        check_server(existing_logins("HERE", "oracle", {"HERE": dsn(postgres_server, "s3cret")}))
    assert "\n" not in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_an_unreachable_server_is_one_sentence(postgres_server: EmbeddedServer) -> None:
    """A port at which nobody listens is told in one line, with the address."""
    logins = existing_logins("HERE", "oracle", {"HERE": "postgresql://user@127.0.0.1:1/x"})
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:1 cannot be used.*refused") as caught:
        check_server(logins)
    assert "\n" not in str(caught.value)


def test_a_role_that_may_make_no_database_is_told(postgres_server: EmbeddedServer, postgres_database: str) -> None:
    """A login that cannot make databases is refused before the run."""
    logins = replace(postgres_server.logins, owner=postgres_server.logins.app, maintenance=postgres_database)
    with pytest.raises(ConfigError, match="app may not make databases"):
        check_server(logins)
    with psycopg.connect(**logins.owner.arguments(postgres_database)) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
