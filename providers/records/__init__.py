"""A small clinical record behind HTTP, over a real database, whose saves go wrong in known ways."""

from providers.records.provider import Records

__all__ = ["Records"]
