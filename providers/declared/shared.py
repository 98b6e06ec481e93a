"""What the trials of one process share: a private folder, the template of the database, compiled schemas."""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread

from providers.declared.closing import Closing
from providers.declared.loading import Loaded
from providers.declared.reset.sqlite import SqliteRecords
from providers.declared.tools.base import Checked
from providers.postgres import leftovers
from spec.canonical import Json, canonical_json
from spec.environment import Tool

if TYPE_CHECKING:
    from providers.declared.reset.postgres import PostgresRecords
    from providers.declared.tools.mcp import McpThread


class Shared:
    """Made by ``open_shared``; closed once, behind the last trial.

    Attributes:
        declaration: what is declared.
        operations: of its OpenAPI file.
        folder: private to this process.
    """

    def __init__(self, loaded: Loaded, folder: Path, closing: Closing) -> None:
        self.declaration, self.operations, self.folder = loaded.declaration, loaded.operations, folder
        self._home, self._closing = loaded.home, closing
        self._numbers = itertools.count(1)
        self._compiled: dict[bytes, Checked] = {}
        self.sqlite: SqliteRecords | None = None
        self.postgres: PostgresRecords | None = None
        self.mcp: McpThread | None = None

    def own_values(self, folder: Path) -> dict[str, Json]:
        """What stands in every trial."""
        return {"folder": str(folder), "here": str(self._home), "python": sys.executable}

    async def trial_folder(self, closing: Closing) -> Path:
        """A folder for one trial, removed when it is closed."""
        folder = self.folder / f"t{next(self._numbers)}"
        await to_thread.run_sync(partial(folder.mkdir, mode=0o700))
        closing.add("the trial's folder", partial(to_thread.run_sync, shutil.rmtree, folder))
        return folder

    async def database(self, folder: Path, values: Mapping[str, Json], closing: Closing) -> dict[str, Json]:
        """A fresh database, where one is declared; what it is to be called by."""
        if self.postgres is not None:
            return await self.postgres.take(values, closing)
        if self.sqlite is None:
            return {}
        return await to_thread.run_sync(self.sqlite.make, folder, values)

    def checked(self, tools: Sequence[Tool]) -> Checked:
        """What refuses wrong calls of these tools; the same tools are compiled once."""
        key = canonical_json([tool._asdict() for tool in tools])
        if key not in self._compiled:
            self._compiled[key] = Checked(tools)
        return self._compiled[key]

    async def close(self) -> None:
        """Give everything back."""
        await self._closing.close()


async def open_shared(loaded: Loaded) -> Shared:
    """Make what the trials share.

    Args:
        loaded: the declaration with its files.

    Raises:
        ConfigError: a statement of the template fails.
    """
    closing = Closing()
    try:
        folder = await to_thread.run_sync(_private_folder)
        closing.add("the private folder", partial(to_thread.run_sync, leftovers.clear, folder))
        shared = Shared(loaded, folder, closing)
        sql = loaded.declaration.reset.sql
        if sql is not None and sql.database == "sqlite":
            shared.sqlite = SqliteRecords(folder, loaded.template, loaded.trial)
            await to_thread.run_sync(shared.sqlite.prepare)
        elif sql is not None:
            from providers.declared.reset.postgres import open_records

            shared.postgres = await open_records(sql, loaded.template, loaded.trial, closing)
        if loaded.declaration.tools.mcp is not None:
            from providers.declared.tools.mcp import start_thread

            shared.mcp = await start_thread()
            closing.add("the thread of the MCP client", shared.mcp.close)
    except BaseException:
        await closing.undo()
        raise
    return shared


def _private_folder() -> Path:
    """A folder of this process's own; those of processes that were killed are swept up first."""
    root = Path(tempfile.gettempdir())
    leftovers.sweep([root])
    folder = Path(tempfile.mkdtemp(prefix=f"{leftovers.PREFIX}declared-", dir=root))
    leftovers.claim(folder)
    return folder
