"""Disks that refuse: the project's one seam to the disk, for a whole run in this process, with a fault in it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from unittest.mock import patch

from orchestrator.files import OsFiles

OPERATIONS: Final = (
    "create",
    "open_append",
    "write",
    "datasync",
    "fsync",
    "fsync_dir",
    "truncate",
    "close",
    "replace",
    "unlink",
    "free_bytes",
)
SYNCS: Final = ("datasync", "fsync", "fsync_dir")


class Operation(NamedTuple):
    """One operation on the disk.

    Attributes:
        name: as ``orchestrator.files.FileSystem`` calls it.
        path: the file or directory.
    """

    name: str
    path: Path


class Disk:
    """Every file of the project in this process goes through it, until the ``with`` block ends.

    Attributes:
        done: the operations, in order, those that were refused among them.
    """

    def __init__(self) -> None:
        self.done: list[Operation] = []
        self._paths: dict[int, Path] = {}
        self._patches = ExitStack()

    def act(self, operation: Operation, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Carry an operation out. ``arguments`` begin with the real files."""
        return real(*arguments)

    def __enter__(self) -> Self:
        for name in OPERATIONS:
            self._patches.enter_context(patch.object(OsFiles, name, self._through(name, getattr(OsFiles, name))))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patches.close()

    def _through(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any) -> Any:
            about = arguments[1]
            this = Operation(name, about if isinstance(about, Path) else self._paths[about])
            self.done.append(this)
            result = self.act(this, real, arguments)
            if name in ("create", "open_append"):
                self._paths[result] = this.path
            return result

        return operation


class Refusing(Disk):
    """Refuses the n-th of some operations.

    Args:
        nth: which one, from 1.
        only: the operations that are counted.
        code: the error's number.
        persistent: all later ones of those operations are refused too.
        short: a write that is to be refused takes half of its bytes instead.

    Attributes:
        code: the error's number.
        refused: the first operation that was refused, or None.
        after: the operations behind it.
    """

    def __init__(
        self,
        nth: int,
        *,
        only: Collection[str] = OPERATIONS,
        code: int = errno.EIO,
        persistent: bool = False,
        short: bool = False,
    ) -> None:
        super().__init__()
        self.code = code
        self._nth, self._only = nth, only
        self._persistent, self._short, self._met = persistent, short, 0
        self.refused: Operation | None = None
        self.after: list[Operation] = []

    def act(self, operation: Operation, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """See ``Disk``."""
        if self.refused is not None:
            self.after.append(operation)
        counted = operation.name in self._only
        self._met += counted
        if not counted or self._met < self._nth or (self._met > self._nth and not self._persistent):
            return real(*arguments)
        self.refused = self.refused or operation
        if operation.name == "write" and self._short:
            files, descriptor, data = arguments
            return real(files, descriptor, data[: len(data) // 2])
        if operation.name == "close":  # the kernel gives the descriptor back whatever it says
            real(*arguments)
        raise OSError(self.code, os.strerror(self.code))
