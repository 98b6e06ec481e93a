"""PostgreSQL for systems of record: a server of one's own, and a pool of prepared databases on any server."""

from providers.postgres.existing import check_programs, check_server, existing_logins
from providers.postgres.logins import Login, Logins
from providers.postgres.pool import Build, DatabasePool, PoolSettings, Seed, open_pool
from providers.postgres.script import from_script, run_script
from providers.postgres.server import EmbeddedServer, start_server
from providers.postgres.settings import ServerSettings

__all__ = [
    "Build",
    "DatabasePool",
    "EmbeddedServer",
    "Login",
    "Logins",
    "PoolSettings",
    "Seed",
    "ServerSettings",
    "check_programs",
    "check_server",
    "existing_logins",
    "from_script",
    "open_pool",
    "run_script",
    "start_server",
]
