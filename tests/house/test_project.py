"""What is shipped and how it is set up: packages, lock, the two commands, the pages that name them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

Project = Mapping[str, Any]

PIN: Final = re.compile(r"^([a-z0-9][a-z0-9-]*)==\S+")
MAKE_WAIT_S: Final = 30


def normalised(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None, requirement
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def pins(lock: str) -> dict[str, int]:
    """Pinned name -> how many hashes follow it."""
    counts: dict[str, int] = {}
    name = ""
    for line in lock.splitlines():
        if found := PIN.match(line):
            name = found.group(1)
            counts[name] = 0
        elif "--hash=sha256:" in line:
            counts[name] += 1
    return counts


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    assert program is not None, "the tests are started by make, so it is here"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=MAKE_WAIT_S,
        check=False,
    )


def test_the_wheel_holds_the_packages_and_nothing_else(project: Project, packages: tuple[str, ...], root: Path) -> None:
    """Every package of ours is shipped; tests and benchmarks are not."""
    beside = {"tests", "benchmarks"}
    found = {path.parent.name for path in root.glob("*/__init__.py")}
    assert found - beside == set(packages)
    assert not beside & set(packages)
    assert set(project["tool"]["importlinter"]["root_packages"]) == set(packages)


def test_all_code_is_type_checked(project: Project, packages: tuple[str, ...]) -> None:
    """Strict mypy sees the shipped packages, the tests and the benchmarks."""
    assert project["tool"]["mypy"]["strict"] is True
    assert set(project["tool"]["mypy"]["packages"]) == {*packages, "tests", "benchmarks"}


def test_the_lock_pins_and_hashes_every_dependency(project: Project, root: Path) -> None:
    """Each direct dependency, the tools and the build backend stand in the lock, and no pin lacks a hash."""
    groups = project["dependency-groups"]
    wanted = [
        *project["project"]["dependencies"],
        *groups["dev"],
        *groups["build"],
        *project["build-system"]["requires"],
    ]
    locked = pins((root / "requirements.lock").read_text(encoding="utf-8"))
    assert {normalised(requirement) for requirement in wanted} - set(locked) == set()
    assert [name for name, hashes in locked.items() if hashes == 0] == []


def test_the_lock_names_no_place(root: Path) -> None:
    """The lock holds names, versions and hashes: no address, no file, no index."""
    lines = (root / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "://" in line or " @ " in line or line.startswith("-")] == []


def test_the_pages_name_the_two_commands(root: Path) -> None:
    """A newcomer is told of `make demo` and `make test`."""
    for page in ("CONTRIBUTING.md",):
        text = (root / page).read_text(encoding="utf-8")
        assert "make demo" in text, page
        assert "make test" in text, page


def test_the_design_index_names_every_note(root: Path) -> None:
    """docs/design/README.md links each design note beside it."""
    folder = root / "docs" / "design"
    index = (folder / "README.md").read_text(encoding="utf-8")
    notes = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert {note for note in notes if f"({note})" not in index} == set()


def test_continuous_integration_runs_make_test(root: Path) -> None:
    """.ci/run is executable, stops at the first error and calls what a developer calls."""
    script = root / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = script.read_text(encoding="utf-8").splitlines()
    assert "set -euo pipefail" in lines
    assert "exec make test" in lines


def test_make_says_what_it_can_do(root: Path, tmp_path: Path) -> None:
    """`make` alone lists the commands and touches nothing."""
    shutil.copy(root / "Makefile", tmp_path)
    answer = make(tmp_path)
    assert answer.returncode == 0
    assert {"make demo", "make test", "make lock", "make bench", "make clean"} <= {
        line.partition("  ")[0] for line in answer.stdout.splitlines()
    }
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


def test_a_missing_python_is_named(root: Path, tmp_path: Path) -> None:
    """Without a Python that is new enough, make says which packages to install and leaves no half-made .venv."""
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)
    answer = make(tmp_path, "demo", f"PYTHON={tmp_path / 'absent'}")
    assert answer.returncode != 0
    assert "python3.11 python3.11-venv" in answer.stderr
    assert not (tmp_path / ".venv").exists()
