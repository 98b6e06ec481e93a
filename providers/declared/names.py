"""The names that places may have in a trial: what is there, what the reset makes, what a task brings."""

from __future__ import annotations

from typing import Final

from providers.declared.model import Declaration, Reset, TaskTable

HERE_NAMES: Final = ("folder", "here", "python")
"""The trial's own folder, the declaration's folder, and the interpreter that runs this."""

SQL_NAMES: Final = {
    "sqlite": ("database_path", "database_url"),
    "postgres": ("database_dsn", "database_name", "database_url"),
}
_FILE_OF_PASSWORD: Final = "database_password_file"  # noqa: S105 - a name, not a password
"""Where the oracle of an embedded server finds its password."""


def made_names(reset: Reset) -> list[str]:
    """What a reset makes, in the order in which it is made."""
    names: list[str] = []
    if reset.sql is not None:
        names += SQL_NAMES[reset.sql.database]
        if reset.sql.database == "postgres" and reset.sql.dsn_env is None:
            names.append(_FILE_OF_PASSWORD)
    if reset.command is not None:
        names += reset.command.keep
    for call in reset.http:
        names += call.keep
    return names


def trial_names(declaration: Declaration, task: TaskTable) -> list[str]:
    """What a task's parameters and wiring bring."""
    return [*declaration.params, *declaration.wiring, *task.params, *task.wiring]
