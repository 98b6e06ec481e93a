"""A server that somebody else runs: how it is named, and what is asked of it before a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from providers.postgres.binaries import find_programs
from providers.postgres.logins import Login, Logins
from providers.postgres.user import server_user
from spec.errors import ConfigError

VERSION_MIN: Final = 140_000
CHECK_DEADLINE_S: Final = 5
_PORT: Final = 5432
_DRIVER: Final = "postgresql+psycopg://"
_HANDLED: Final = ("host", "port", "user", "password", "dbname", "connect_timeout")
_RIGHTS: Final = "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
_ORACLE: Final = "SELECT rolcanlogin, rolsuper FROM pg_roles WHERE rolname = %s"
_KEY: Final = "provider.options.dsn_env"
_ORACLE_KEY: Final = "provider.options.oracle_role"


def existing_logins(dsn_env: str, oracle_role: str, environment: Mapping[str, str] = os.environ) -> Logins:
    """The logins for a server that runs: the run's own for owner and app, and a role that only reads for the oracle.

    The oracle's password is not known here: it goes from the environment to the oracle alone.

    Args:
        dsn_env: the environment variable that holds the address, ``postgresql://user:password@host:port/database``.
        oracle_role: the name of the role that the oracle reads as.
        environment: where the variable is.

    Raises:
        ConfigError: there is no such variable, or what it holds is no address; it is never shown.
    """
    text = environment.get(dsn_env, "")
    if not text:
        raise ConfigError(f"the environment variable {dsn_env} is not set", key=_KEY, hint="set it to an address")
    try:
        found = conninfo_to_dict(text.replace(_DRIVER, "postgresql://", 1))
        port = int(found.get("port") or _PORT)
    except (psycopg.ProgrammingError, ValueError):
        found, port = {}, _PORT
    if not found.get("host") or not found.get("user"):
        raise ConfigError(
            f"the environment variable {dsn_env} holds no address with a host and a user",
            key=_KEY,
            hint="such as postgresql://user:password@127.0.0.1:5432/postgres",
        )
    if not oracle_role:
        raise ConfigError(
            "the oracle needs a role of its own on a server that runs",
            key=_ORACLE_KEY,
            hint="name a role that may log in, and the variable with its password as 'oracle_password_env'",
        )
    more = tuple((name, str(value)) for name, value in found.items() if name not in _HANDLED)
    password = found.get("password")
    owner = Login(str(found["host"]), port, str(found["user"]), str(password) if password else None, more=more)
    oracle = Login(owner.host, port, oracle_role, more=more)
    return Logins(owner, owner, oracle, str(found.get("dbname") or "postgres"))


def check_programs() -> None:
    """Ask this machine, before a run, whether a server could be started on it.

    Raises:
        ConfigError: it has no PostgreSQL, or nobody to run it as.
    """
    find_programs()
    server_user().command([])


def check_server(logins: Logins) -> None:
    """Ask a server, before a run, whether it can be used; takes a few seconds at most.

    Args:
        logins: of ``existing_logins``.

    Raises:
        ConfigError: it is not reached, refuses the password, is too old, or a role lacks a right.
    """
    owner, oracle = logins.owner, logins.oracle.user
    place = f"the PostgreSQL server at {owner.host}:{owner.port}"
    arguments = {**owner.arguments(logins.maintenance), "connect_timeout": CHECK_DEADLINE_S}
    try:
        with psycopg.connect(**arguments, autocommit=True) as connection:
            version = connection.info.server_version
            rights = connection.execute(_RIGHTS).fetchone()
            role = connection.execute(_ORACLE, [oracle]).fetchone()
    except psycopg.Error as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{place} cannot be used: {reason}", key=_KEY, hint="check address and password") from error
    if version < VERSION_MIN:
        raise ConfigError(f"{place} is older than version 14", key=_KEY)
    if not (rights and rights[0]):
        message = f"{place}: the role {owner.user} may not make databases"
        raise ConfigError(message, key=_KEY, hint="ALTER ROLE ... CREATEDB")
    if role is None or not role[0]:
        raise ConfigError(f"{place} has no role {oracle} that may log in", key=_ORACLE_KEY)
    if role[1] or oracle == owner.user:
        raise ConfigError(f"{place}: the oracle's role {oracle} may do more than read", key=_ORACLE_KEY)
