"""Which databases the records stand on, by the provider's options; read and checked before anything is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from spec.clock import SystemClock
from spec.errors import ConfigError, ConfigErrors
from spec.text import nearest

if TYPE_CHECKING:
    from providers.records.leases import Base
    from providers.records.storage import Storage

SQLITE, POSTGRES = "sqlite", "postgres"
STORAGES: Final = (SQLITE, POSTGRES)
DATABASES_DEFAULT: Final = 32
DATABASES_MAX: Final = 1_000
_TEXTS: Final = ("dsn_env", "oracle_role", "oracle_password_env")
_POSTGRES_ONLY: Final = (*_TEXTS, "databases")


class StorageChoice(NamedTuple):
    """Where the databases are.

    Attributes:
        kind: ``sqlite`` or ``postgres``.
        dsn_env: the environment variable with the address of a PostgreSQL server that runs; "": one is started.
        oracle_role: who the oracle reads as on a server that runs.
        oracle_password_env: the environment variable with that role's password; only the oracle gets it.
        databases: how many trials have a PostgreSQL database at the same time, at most.
    """

    kind: str = SQLITE
    dsn_env: str = ""
    oracle_role: str = ""
    oracle_password_env: str = ""
    databases: int = DATABASES_DEFAULT

    @property
    def read_credentials(self) -> tuple[str, ...]:
        """Names of environment variables for the oracle alone."""
        return (self.oracle_password_env,) if self.oracle_password_env else ()

    def check(self, environment: Mapping[str, str] = os.environ) -> None:
        """Look at what a run would meet: the server that is named, or the programs of one that would be started.

        Raises:
            ConfigErrors: it cannot be used.
        """
        if self.kind != POSTGRES:
            return
        from providers.postgres import check_programs, check_server, existing_logins

        try:
            if self.dsn_env:
                check_server(existing_logins(self.dsn_env, self.oracle_role, environment))
            else:
                check_programs()
        except ConfigError as error:
            raise ConfigErrors([error]) from error

    def make(self, base: Base) -> Storage:
        """The storage of a worker.

        Args:
            base: the directory that the worker shares with the service.

        Raises:
            ConfigError: the server is not named as it should be.
        """
        if self.kind == SQLITE:
            from providers.records.sqlite import SqliteStorage

            return SqliteStorage(base.records)
        from providers.postgres import existing_logins
        from providers.records.postgres import PostgresPlace, PostgresStorage

        logins = existing_logins(self.dsn_env, self.oracle_role) if self.dsn_env else None
        return PostgresStorage(PostgresPlace(logins, self.oracle_password_env, self.databases), SystemClock())


def take_choice(given: dict[str, object]) -> StorageChoice:
    """The choice, taken out of a provider's options.

    Raises:
        ConfigError: a value is not known, or an option goes with another storage.
    """
    kind = given.pop("storage", SQLITE)
    if kind not in STORAGES:
        key, hint = "provider.options.storage", nearest(str(kind), list(STORAGES))
        raise ConfigError(f"{kind!r} is no storage of records: sqlite or postgres", key=key, hint=hint)
    found = {name: given.pop(name) for name in _POSTGRES_ONLY if name in given}
    if found and kind != POSTGRES:
        raise ConfigError('goes with storage = "postgres" alone', key=f"provider.options.{next(iter(found))}")
    for name in _TEXTS:
        if not isinstance(found.get(name, ""), str):
            raise ConfigError("must be a text", key=f"provider.options.{name}")
    databases = found.get("databases", DATABASES_DEFAULT)
    if type(databases) is not int or not 1 <= databases <= DATABASES_MAX:
        raise ConfigError(f"must be a number from 1 to {DATABASES_MAX}", key="provider.options.databases")
    texts = {name: str(found.get(name, "")) for name in _TEXTS}
    if not texts["dsn_env"] and any(texts.values()):
        name = next(name for name in _TEXTS if texts[name])
        raise ConfigError("goes with dsn_env alone", key=f"provider.options.{name}")
    if texts["dsn_env"] and not (texts["oracle_role"] and texts["oracle_password_env"]):
        raise ConfigError(
            "a server that runs needs a role that only reads, for the oracle",
            key="provider.options.dsn_env",
            hint="name it as oracle_role, and the variable with its password as oracle_password_env",
        )
    return StorageChoice(str(kind), texts["dsn_env"], texts["oracle_role"], texts["oracle_password_env"], databases)
