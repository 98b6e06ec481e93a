"""Keeps proxies away from this machine's own addresses: a record on loopback must never be asked for elsewhere."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_NAMES: Final = ("NO_PROXY", "no_proxy")
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy")


def spare_loopback(environ: MutableMapping[str, str]) -> None:
    """Add loopback to what goes past the proxy, in both spellings, where the environment names a proxy.

    Args:
        environ: the environment variables; changed in place, so that started processes inherit it.
    """
    if not proxies_of(environ):
        return
    listed = [part.strip() for name in _NAMES for part in environ.get(name, "").split(",") if part.strip()]
    value = ",".join(dict.fromkeys((*listed, *LOOPBACK)))
    for name in _NAMES:
        environ[name] = value


def proxies_of(environ: MutableMapping[str, str]) -> list[str]:
    """The names of the set variables that send requests to a proxy."""
    return sorted(name for name, value in environ.items() if name.lower() in _PROXIES and value)
