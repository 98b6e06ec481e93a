from __future__ import annotations

from sqlalchemy.engine import make_url

from providers.postgres.logins import Login


def test_a_url_names_the_database_and_no_password() -> None:
    """The URL of a database is one that SQLAlchemy reads, and neither it nor the login's text shows the password."""
    login = Login("/run/a b/socket", 5432, "or@cle", "s3cret", more=(("sslmode", "disable"),))
    url = make_url(login.url("t 1"))
    assert (url.drivername, url.username, url.database) == ("postgresql+psycopg", "or@cle", "t 1")
    assert dict(url.query) == {"host": "/run/a b/socket", "port": "5432", "sslmode": "disable"}
    assert "s3cret" not in login.url("t 1") + repr(login)


def test_arguments_are_those_of_the_driver() -> None:
    """What psycopg takes has the database, the deadline and the password, and no password where there is none."""
    login = Login("h", 1, "u", "p")
    expected = {"connect_timeout": 10, "host": "h", "port": 1, "user": "u", "dbname": "d"}
    assert login.arguments("d") == {**expected, "password": "p"}
    assert Login("h", 1, "u").arguments("d") == expected
