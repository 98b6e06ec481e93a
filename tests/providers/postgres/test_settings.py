from __future__ import annotations

from pathlib import Path

from providers.postgres.settings import ServerSettings, access_rules, role_statements, server_configuration

VERIFIERS = {"provider": "v1", "app": "v2", "oracle": "v3"}


def test_nothing_is_synced_and_nothing_listens_on_a_network() -> None:
    """By default no data is synced, and no TCP port is opened; with ``tcp`` it is one of the loopback."""
    text = server_configuration(ServerSettings(), Path("/s"), Path("/h"), 5432)
    lines = text.splitlines()
    assert {"fsync = 'off'", "synchronous_commit = 'off'", "full_page_writes = 'off'"} <= set(lines)
    assert "listen_addresses = ''" in lines
    assert "listen_addresses = '127.0.0.1'" in server_configuration(ServerSettings(tcp=True), Path("/s"), Path("/h"), 1)


def test_nobody_comes_in_without_a_password() -> None:
    """Every rule asks for a password, and no rule lets the superuser in."""
    rules = [line.split() for line in access_rules().splitlines()]
    assert {rule[-1] for rule in rules} == {"scram-sha-256"}
    assert {rule[2] for rule in rules} == {"provider,app,oracle"}


def test_statements_stand_one_a_line() -> None:
    """The single-user mode reads a statement a line, so each line ends one."""
    assert all(line.endswith(";") for line in role_statements(VERIFIERS).splitlines())
