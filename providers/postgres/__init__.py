"""PostgreSQL for systems of record: a server of one's own, and a pool of prepared databases on any server."""

from providers.postgres.logins import Login, Logins
from providers.postgres.server import EmbeddedServer, start_server
from providers.postgres.settings import ServerSettings

__all__ = ["EmbeddedServer", "Login", "Logins", "ServerSettings", "start_server"]
