"""Bring your own record: a provider that is declared in a TOML file, around a system that somebody else runs."""

from providers.declared.provider import Declared

__all__ = ["Declared"]
