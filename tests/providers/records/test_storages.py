from __future__ import annotations

import pytest

from providers.postgres import EmbeddedServer
from providers.records import Records
from providers.records.storages import StorageChoice, take_choice
from spec.errors import ConfigError, ConfigErrors

NAMED = {"dsn_env": "DSN", "oracle_role": "oracle", "oracle_password_env": "WORD"}


def test_without_a_word_it_is_sqlite() -> None:
    """SQLite is the default, and needs no look at anything."""
    given: dict[str, object] = {"read": "sql"}
    assert take_choice(given) == StorageChoice()
    assert given == {"read": "sql"}
    StorageChoice().check({})


def test_every_option_is_taken() -> None:
    """All that belongs to PostgreSQL is taken out of the options, and the oracle's password is a read credential."""
    given: dict[str, object] = {"storage": "postgres", "databases": 7, **NAMED}
    assert take_choice(given) == StorageChoice("postgres", "DSN", "oracle", "WORD", 7)
    assert given == {}
    assert Records(options={"storage": "postgres", **NAMED}).read_credentials == ("WORD",)
    assert Records(options={"storage": "postgres"}).read_credentials == ()


@pytest.mark.parametrize(
    ("given", "key", "says"),
    [
        ({"storage": "postgre"}, "storage", "did you mean 'postgres'"),
        ({"storage": 5}, "storage", "no storage"),
        ({"databases": 3}, "databases", "alone"),
        ({"storage": "sqlite", "dsn_env": "X"}, "dsn_env", "alone"),
        ({"storage": "postgres", "databases": 0}, "databases", "from 1 to 1000"),
        ({"storage": "postgres", "databases": True}, "databases", "from 1 to 1000"),
        ({"storage": "postgres", "dsn_env": 5}, "dsn_env", "a text"),
        ({"storage": "postgres", "oracle_role": "x"}, "oracle_role", "dsn_env alone"),
        ({"storage": "postgres", "dsn_env": "X"}, "dsn_env", "a role that only reads"),
        ({"storage": "postgres", "dsn_env": "X", "oracle_role": "o"}, "dsn_env", "oracle_password_env"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, object], key: str, says: str) -> None:
    """Each mistake is named by its key."""
    with pytest.raises(ConfigError, match=says) as caught:
        Records(options=given)
    assert caught.value.key == f"provider.options.{key}"


def test_a_server_is_looked_at_before_the_run(postgres_server: EmbeddedServer) -> None:
    """A server that runs is asked beforehand: with a wrong password or no such variable there is no run."""
    choice, owner = StorageChoice("postgres", "DSN", "oracle", "WORD"), postgres_server.logins.owner
    right = f"postgresql://{owner.user}:{owner.password}@127.0.0.1:{postgres_server.port}/postgres"
    choice.check({"DSN": right})
    with pytest.raises(ConfigErrors, match="DSN is not set"):
        choice.check({})
    with pytest.raises(ConfigErrors, match="password authentication failed"):
        choice.check({"DSN": right.replace(str(owner.password), "wrong")})


def test_the_machine_is_looked_at_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server would be started, a machine without PostgreSQL is told before the run."""
    choice = StorageChoice("postgres")
    choice.check()

    def nowhere() -> None:
        raise ConfigError("no PostgreSQL was found")

    monkeypatch.setattr("providers.postgres.existing.find_programs", nowhere)
    with pytest.raises(ConfigErrors, match="no PostgreSQL"):
        choice.check()
