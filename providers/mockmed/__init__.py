"""MockMed: a synthetic medical record in memory whose saves go wrong in known ways."""

from providers.mockmed.provider import MockMed

__all__ = ["MockMed"]
