"""The ways of reading a record. Each channel has a module of its own, found by its entry point."""

from oracle.channels.snapshot import SnapshotChannel

__all__ = ["SnapshotChannel"]
