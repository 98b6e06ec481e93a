"""The way around a declared application, for an audit of the oracle: into its database, or into its folder of files.

A database is written by the login that the tools have, a folder by this process. A record behind a service of somebody
else has no back door that a declaration could name, so it cannot be audited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread

from providers.declared.environment import DeclaredEnvironment
from providers.declared.writing.base import Writer
from providers.declared.writing.folder import FolderWriter
from spec.canonical import Json, JsonObject
from spec.environment import ToolError
from spec.errors import ProviderFault
from spec.reading import ChannelName, ReadPath


class DeclaredBackDoor:
    """Writes to the record of one fixture (``providers.base.BackDoor``).

    Args:
        writer: how; its calls block, so they go to a thread.
        environment: what an arm of this fixture would act in.
        kept: texts that only the oracle may know.
    """

    def __init__(self, writer: Writer, environment: DeclaredEnvironment, kept: Sequence[str]) -> None:
        self._writer, self._environment, self._kept = writer, environment, kept

    async def tables(self) -> Sequence[str]:
        """Every table of the database, or the one of the folder."""
        return await to_thread.run_sync(self._writer.tables)

    async def insert(self, table: str, record: JsonObject) -> None:
        """Add a record.

        Raises:
            ProviderFault: the record refuses it.
        """
        await to_thread.run_sync(partial(self._writer.insert, table, record))

    async def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place in every record that has all of ``match``.

        Raises:
            ProviderFault: the record refuses it.
        """
        return await to_thread.run_sync(partial(self._writer.update, table, match, fields))

    async def delete(self, table: str, match: JsonObject) -> int:
        """Remove every record that has all of ``match``.

        Raises:
            ProviderFault: the record refuses it.
        """
        return await to_thread.run_sync(partial(self._writer.delete, table, match))

    async def reach(self) -> Sequence[str]:
        """Whether a tool tells what only the oracle may know; tools that need arguments are called without any."""
        found = []
        for tool in self._environment.tools:
            try:
                answer = str(await self._environment.call(tool.name, {}))
            except (ToolError, ProviderFault) as refusal:
                answer = str(refusal)
            if any(text in answer for text in self._kept):
                found.append(f"the tool {tool.name} tells where or by what the oracle reads")
        return found


def back_door_of(
    path: ReadPath, environment: DeclaredEnvironment, values: Mapping[str, Json]
) -> DeclaredBackDoor | None:
    """The back door of a trial's record, or None where nobody but its own service can write it.

    Args:
        path: how the oracle reads the record.
        environment: of the trial.
        values: the trial's, the database's address among them.
    """
    if path.channel == ChannelName.FS:
        root = str(path.where["root"])
        return DeclaredBackDoor(FolderWriter(Path(root), str(path.where.get("table", "files"))), environment, [root])
    if path.channel == ChannelName.SQL and ("database_path" in values or "database_dsn" in values):
        from providers.declared.writing.database import DatabaseWriter

        kept = [str(values[name]) for name in ("database_url", "database_password_file") if name in values]
        return DeclaredBackDoor(DatabaseWriter(values), environment, kept)
    return None
