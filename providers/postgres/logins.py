"""How a role gets into a server. A login never shows its password."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

CONNECT_DEADLINE_S: Final = 10


@dataclass(frozen=True)
class Login:
    """One role of one server."""

    host: str
    """A host name, or the directory of a unix socket."""
    port: int
    user: str
    password: str | None = field(default=None, repr=False)
    """None where the server asks for none, or where only another process knows it."""
    password_file: Path | None = None
    """Where the password stands alone in a file of mode 0600."""
    more: tuple[tuple[str, str], ...] = ()
    """Further connection settings, such as ``sslmode``."""

    def arguments(self, database: str) -> dict[str, Any]:
        """What ``psycopg.connect`` takes."""
        known = {"host": self.host, "port": self.port, "user": self.user, "dbname": database}
        secret = {} if self.password is None else {"password": self.password}
        return {"connect_timeout": CONNECT_DEADLINE_S, **dict(self.more), **known, **secret}

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database, without a password."""
        place = {"host": self.host, "port": str(self.port), **dict(self.more)}
        return f"postgresql+psycopg://{quote(self.user, safe='')}@/{quote(database, safe='')}?{urlencode(place)}"


@dataclass(frozen=True)
class Logins:
    """The three roles that a system of record needs on a server."""

    owner: Login
    """Makes databases and their tables, resets them, and ends what is still at work in them."""
    app: Login
    """Reads and writes rows; cannot change tables."""
    oracle: Login
    """Reads every row of every database and writes none."""
    maintenance: str = "postgres"
    """The database that the owner is in while it makes and drops others."""
