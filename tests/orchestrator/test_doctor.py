"""The doctor tries things, and says no where one fails."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator import doctor
from orchestrator.cli.doctor import doctor_command
from orchestrator.doctor import disk_verdict, examine, platform_verdict, proxy_verdict, sockets_verdict


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks at everything but Ray, whose import takes seconds."""
    monkeypatch.setattr(doctor, "_ray_imports", lambda: (True, "not asked"))


@pytest.mark.usefixtures("without_ray")
def test_this_machine_is_well(tmp_path: Path) -> None:
    """Everything that the tests themselves rely on is found to be there."""
    checks = examine({}, tmp_path, with_ray=False)
    assert {check.name: check.ok for check in checks} == dict.fromkeys(
        ("python", "platform", "sockets", "disk", "loopback", "proxy", "ray"), True
    )


@pytest.mark.usefixtures("without_ray")
def test_what_fails_is_an_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A look that raises is a no with its reason, not the end of the examination, and the command ends in 1."""

    def broken() -> tuple[bool, str]:
        raise PermissionError("no sockets for you")

    monkeypatch.setattr(doctor, "_loopback", broken)
    found = {check.name: check for check in examine({}, tmp_path, with_ray=False)}
    assert found["loopback"] == ("loopback", False, "PermissionError: no sockets for you")
    answer: Callable[..., object] = doctor_command.main
    assert answer([], standalone_mode=False) == 1


def test_platforms() -> None:
    """Linux is well, macOS is told to run inline, Windows and what nobody tried are not well."""
    assert platform_verdict("linux")[0]
    assert platform_verdict("darwin")[0]
    assert "inline" in platform_verdict("darwin")[1]
    assert not platform_verdict("win32")[0]
    assert not platform_verdict("sunos5")[0]


def test_room() -> None:
    """A disk with less than a run asks for is not well."""
    assert disk_verdict(1 << 40)[0]
    assert disk_verdict(1 << 20) == (False, "1 MiB free, at least 256 MiB are needed")


def test_a_long_temporary_directory_is_gone_round() -> None:
    """Where the temporary directory is too long for a socket, the place that is used instead is named."""
    assert sockets_verdict("/" + "x" * 80) == (
        True,
        f"Ray's sockets go below /tmp, since /{'x' * 80} is too long for a socket's path",
    )
    assert sockets_verdict(tempfile.gettempdir())[0]


def test_a_proxy_that_catches_loopback_is_named() -> None:
    """A caught host is a no; without a proxy nothing is asked."""
    assert proxy_verdict(["HTTP_PROXY"], lambda host: host != "::1") == (False, "HTTP_PROXY would catch ::1")
    assert proxy_verdict([], lambda host: False)[0]
    assert proxy_verdict(["HTTP_PROXY"], lambda host: True)[0]
