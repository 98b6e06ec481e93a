"""What a writer is; its calls block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spec.canonical import JsonObject


class Writer(Protocol):
    """Writes around the application; raises ``ProviderFault`` where the record refuses."""

    def tables(self) -> Sequence[str]:
        """Every table."""

    def insert(self, table: str, record: JsonObject) -> None:
        """Add a record, with what it needs and does not have filled in."""

    def update(self, table: str, match: JsonObject, fields: JsonObject) -> int:
        """Change fields in place; how many records there were."""

    def delete(self, table: str, match: JsonObject) -> int:
        """Remove records; how many there were."""
