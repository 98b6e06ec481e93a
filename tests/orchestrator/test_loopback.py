"""A proxy never gets what is meant for this machine."""

from __future__ import annotations

import urllib.request

import pytest

from orchestrator.loopback import LOOPBACK, proxies_of, spare_loopback


def test_without_a_proxy_nothing_changes() -> None:
    """An environment that names no proxy stays as it is."""
    environ = {"PATH": "x", "HTTP_PROXY": ""}
    spare_loopback(environ)
    assert environ == {"PATH": "x", "HTTP_PROXY": ""}


def test_loopback_is_added_to_what_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both spellings get loopback once, what stood there stays, and Python's own rule goes past the proxy."""
    environ = {"https_proxy": "http://proxy:1", "HTTP_PROXY": "http://proxy:1", "no_proxy": "intern, localhost"}
    spare_loopback(environ)
    spare_loopback(environ)
    assert environ["NO_PROXY"] == environ["no_proxy"] == "intern,localhost,127.0.0.1,::1"
    assert proxies_of(environ) == ["HTTP_PROXY", "https_proxy"]
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert all(urllib.request.proxy_bypass(host) for host in LOOPBACK)
    assert not urllib.request.proxy_bypass("example.org")
