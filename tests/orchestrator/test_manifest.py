"""The manifest says under what circumstances a run was made, and null where nobody knows."""

from __future__ import annotations

import platform
import stat
import subprocess
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from orchestrator import distribution, manifest
from orchestrator.config import config_from_mapping
from orchestrator.manifest import (
    MANIFEST,
    dependencies,
    git_commit,
    new_manifest,
    read_manifest,
    resumed_manifest,
    versions,
    write_manifest,
)
from orchestrator.preparation import Prepared, prepare

STARTED = "2026-01-31T12:00:00.000000Z"


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """A run of the anchor pack, three trials, from a folder in no repository."""
    document = {
        "format": 1,
        "run": {"name": "r", "trials": 3},
        "provider": {"use": "mockmed"},
        "arms": [{"name": "a", "use": "screen_only"}],
    }
    return prepare(config_from_mapping(document, tmp_path, environ={}))


def nowhere(name: str) -> Any:
    raise PackageNotFoundError(name)


def test_it_tells_what_was_run_and_where(prepared: Prepared, tmp_path: Path) -> None:
    """Digests, seeds, pack, platform and versions stand in it; the end is not known yet."""
    made = new_manifest(prepared, "r-1", STARTED)
    assert (made["run_id"], made["kind"], made["format"]) == ("r-1", "effect", 1)
    assert (made["started_at"], made["ended_at"]) == (STARTED, None)
    assert made["plan_digest"] == prepared.plan_digest
    assert made["pack_digest"] == prepared.pack_digest
    assert made["parts"] == prepared.parts
    assert made["seeds"] == {"first": 0, "last": 2}
    assert made["isolation"] == {"a": "in-process"}
    assert made["platform"] == platform.platform()
    assert made["config_folder"] == str(tmp_path)
    assert made["git_commit"] is None
    assert made["pack_manifest"] == prepared.provider.manifest()


def test_a_seed_that_nobody_can_tell_is_null(prepared: Prepared) -> None:
    """A provider that fails for the sampled trials leaves the seeds unknown, not the run unstarted."""

    class Silent:
        def payload(self, task: Any, trial: int, run_seed: int) -> Any:
            raise OSError("no tags")

    silent: Any = Silent()
    assert new_manifest(replace(prepared, provider=_with_name(silent)), "r-1", STARTED)["seeds"] is None


def _with_name(provider: Any) -> Any:
    provider.name, provider.version = "silent", "1"
    return provider


def test_versions_are_those_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours, the specification's, Python's and Ray's; what is not installed is null."""
    found = versions()
    assert found["python"] == platform.python_version()
    assert all(found[name] for name in ("orchestrator", "spec", "ray"))
    monkeypatch.setattr(distribution, "version", nowhere)
    assert versions() == {"orchestrator": None, "spec": "1.0.0", "python": platform.python_version(), "ray": None}


def test_dependencies_are_named_without_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each that we ask for stands with the version that is installed; without our own metadata there are none."""
    found = dependencies()
    assert {"anyio", "orjson", "pydantic", "ray", "tree-sitter-toml"} <= set(found)
    assert all(found.values())
    monkeypatch.setattr(manifest, "distribution", nowhere)
    assert dependencies() == {}


def test_the_commit_is_that_of_the_folder(tmp_path: Path) -> None:
    """A folder in a repository has a commit; one outside, one without commits and one that is missing have none."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@example.org"]
    assert git_commit(tmp_path) is None
    subprocess.run([*git, "init", "-q"], check=True)
    assert git_commit(tmp_path) is None
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert git_commit(tmp_path) == head
    assert git_commit(tmp_path / "absent") is None


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 5)], ids=repr)
def test_without_git_the_commit_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """A missing or hanging git costs the commit and nothing else."""

    def run(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    assert git_commit(tmp_path) is None


def test_it_is_written_whole_and_private(prepared: Prepared, tmp_path: Path) -> None:
    """What was written is what is read, and others cannot read it."""
    made = new_manifest(prepared, "r-1", STARTED)
    write_manifest(tmp_path, made)
    assert read_manifest(tmp_path) == {**made, "parts": dict(made["parts"])}
    assert stat.S_IMODE((tmp_path / MANIFEST).stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == [MANIFEST]


@pytest.mark.parametrize("plans", [None, 7, [], ["x", None], {"a": 1}], ids=repr)
def test_plans_that_somebody_edited_stop_no_resume(prepared: Prepared, plans: object) -> None:
    """What is no list of plans counts as the one plan that the file names."""
    made = new_manifest(prepared, "r-1", STARTED)
    gone_on = resumed_manifest({**made, "plans": plans}, prepared, 2)
    assert gone_on["plans"] == [{"session": 1, "plan_digest": made["plan_digest"]}]


@pytest.mark.parametrize("data", [None, b"", b"{", b"[1]", b"\xff"], ids=repr)
def test_a_manifest_that_cannot_be_read_is_empty(tmp_path: Path, data: bytes | None) -> None:
    """No figure depends on it, so a lost one stops nobody."""
    if data is not None:
        (tmp_path / MANIFEST).write_bytes(data)
    assert read_manifest(tmp_path) == {}
