"""Writes below a folder; a record is a file or a directory with ``path``, ``text`` and ``mode``, as ``fs`` reads it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from spec.canonical import Json, JsonObject
from spec.errors import ProviderFault

MODE_DIGITS = 8
"""Modes are octal texts, such as 0644."""


class FolderWriter:
    """Writes below one folder.

    Args:
        root: the folder.
        table: the table's name.
    """

    def __init__(self, root: Path, table: str) -> None:
        self._root, self._table = root, table

    def tables(self) -> Sequence[str]:
        """The one table that there is."""
        return (self._table,)

    def insert(self, table: str, record: JsonObject) -> None:
        """Write a file, or make a directory where the record is one and has no text.

        Raises:
            ProviderFault: something stands at its path already.
        """
        path = self._place(str(record.get("path") or f"back-door-{secrets.token_hex(4)}"))
        if path.exists():
            raise ProviderFault("something stands at this path already, and a folder has one of each")
        if record.get("type") == "directory" and record.get("text") is None:
            path.mkdir()
            _write(path, {"mode": record.get("mode")})
        else:
            _write(path, {"mode": "0600", **record, "text": record.get("text") or ""})

    def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Write files over, or move them where ``path`` is among the fields; a directory that gets text is a file then.

        Raises:
            ProviderFault: something stands where one is to be moved.
        """
        found = list(self._matching(match))
        for path in found:
            changed = path
            if fields.get("path") is not None:
                changed = self._place(str(fields["path"]))
                if changed != path.resolve() and changed.exists():
                    raise ProviderFault("something stands where this is to be moved")
                path.rename(changed)
            _write(changed, fields)
        return len(found)

    def delete(self, table: str, match: JsonObject) -> int:
        """Remove files, and directories with all that is in them."""
        found = list(self._matching(match))
        for path in found:
            _remove(path)
        return len(found)

    def _matching(self, match: JsonObject) -> Iterator[Path]:
        for path in sorted(self._root.rglob("*")):
            if not path.is_symlink() and all(self._value(path, name) == value for name, value in match.items()):
                yield path

    def _value(self, path: Path, name: str) -> Json:
        if name == "path":
            return path.relative_to(self._root).as_posix()
        if name == "mode":
            return f"{path.stat().st_mode & 0o7777:04o}"
        return path.read_bytes().decode(errors="replace") if name == "text" and path.is_file() else None

    def _place(self, relative: str) -> Path:
        path = (self._root / relative).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise ProviderFault("a record's path leads out of its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _write(path: Path, fields: JsonObject) -> None:
    if fields.get("text") is not None:
        if path.is_dir():
            _remove(path)
        path.write_bytes(str(fields["text"]).encode())
    mode = fields.get("mode")
    if mode is not None:
        try:
            needed = 0o700 if path.is_dir() else 0o400  # so that it can be read, and removed at the end
            path.chmod(int(str(mode), MODE_DIGITS) & 0o777 | needed)
        except ValueError:
            raise ProviderFault("the mode is no octal number") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():  # it may have been in a directory that went before it
        path.unlink()
