"""What a server is told: how fast, how small, who may come in.

Its data lives no longer than the process that started it, so nothing is ever synced to a disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

OWNER, APP, ORACLE = "provider", "app", "oracle"
PORT: Final = 5432
"""Names the socket; there is no TCP port unless it is asked for."""


@dataclass(frozen=True)
class ServerSettings:
    """Sizes and deadlines of an embedded server."""

    connections_max: int = 100
    shared_buffers_mib: int = 64
    tcp: bool = False
    """Listen on a free port of 127.0.0.1 too."""
    start_deadline_s: float = 30.0
    stop_deadline_s: float = 10.0


def server_configuration(settings: ServerSettings, sockets: Path, hba: Path, port: int) -> str:
    """The text of ``postgresql.conf``."""
    values: dict[str, str | int] = {
        "listen_addresses": "127.0.0.1" if settings.tcp else "",
        "port": port,
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "hba_file": str(hba),
        "password_encryption": "scram-sha-256",
        "max_connections": settings.connections_max,
        "shared_buffers": f"{settings.shared_buffers_mib}MB",
        "dynamic_shared_memory_type": "mmap",  # within the data directory, so that it goes with it
        "huge_pages": "off",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "wal_level": "minimal",
        "max_wal_senders": 0,
        "max_wal_size": "128MB",
        "min_wal_size": "32MB",
        "checkpoint_timeout": "1h",
        "jit": "off",
        "max_parallel_workers": 0,
        "max_parallel_workers_per_gather": 0,
        "autovacuum_max_workers": 1,
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_min_messages": "fatal",
        "log_min_error_statement": "panic",  # statements carry data of trials, and a log is no place for it
        "idle_in_transaction_session_timeout": "10min",
    }
    return "".join(f"{name} = '{value}'\n" for name, value in values.items())


def access_rules() -> str:
    """The text of ``pg_hba.conf``: three roles, each with its password; nobody else, the superuser included."""
    roles = ",".join((OWNER, APP, ORACLE))
    return f"local all {roles} scram-sha-256\nhost all {roles} 127.0.0.1/32 scram-sha-256\n"


def role_statements(verifiers: dict[str, str]) -> str:
    """The statements that make the roles, one a line, for the superuser.

    Args:
        verifiers: of each role's password.
    """
    lines = [
        f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{verifiers[OWNER]}'",
        f"CREATE ROLE {APP} LOGIN PASSWORD '{verifiers[APP]}'",
        f"CREATE ROLE {ORACLE} LOGIN BYPASSRLS PASSWORD '{verifiers[ORACLE]}'",
        f"ALTER ROLE {ORACLE} SET default_transaction_read_only = on",
        f"GRANT pg_read_all_data TO {ORACLE}",
        f"GRANT pg_signal_backend TO {OWNER}",
        f"GRANT SET ON PARAMETER session_replication_role TO {OWNER}",
        "REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC",
        f"GRANT CONNECT ON DATABASE postgres TO {OWNER}",
    ]
    return "".join(f"{line};\n" for line in lines)
