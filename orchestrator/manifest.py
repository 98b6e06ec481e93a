"""``manifest.json``: under what circumstances a run was made. What is unknown is null, never invented."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final

import orjson

from orchestrator.attestations import KEY as ATTESTATIONS
from orchestrator.distribution import DISTRIBUTION, version_of
from orchestrator.files import write_atomically
from orchestrator.preparation import Prepared
from spec.canonical import JsonObject
from spec.errors import let_interruptions_through

MANIFEST: Final = "manifest.json"
FORMAT: Final = 1
SPEC_VERSION: Final = "1.0.0"
_GIT_S: Final = 5.0


def versions() -> dict[str, str | None]:
    """Our own version, the specification's, Python's and Ray's."""
    return {
        "orchestrator": version_of(DISTRIBUTION),
        "spec": SPEC_VERSION,
        "python": platform.python_version(),
        "ray": version_of("ray"),
    }


def dependencies() -> dict[str, str | None]:
    """The distributions that ours names, with the versions that are installed."""
    try:
        required = distribution(DISTRIBUTION).requires or []
    except PackageNotFoundError:
        return {}
    names = sorted({_bare_name(requirement) for requirement in required if "extra ==" not in requirement})
    return {name: version_of(name) for name in names}


def _bare_name(requirement: str) -> str:
    end = next((place for place, sign in enumerate(requirement) if not (sign.isalnum() or sign in "-_.")), None)
    return requirement[:end]


def new_manifest(
    prepared: Prepared, run_id: str, started_at: str, attestations: JsonObject | None = None
) -> dict[str, Any]:
    """The manifest of a run that begins.

    Args:
        prepared: the run.
        run_id: its name.
        started_at: wall time.
        attestations: what its tasks have earned; None for a kind without contracts.
    """
    return {
        "format": FORMAT,
        "run_id": run_id,
        **_plan(prepared),
        "plans": [{"session": 1, "plan_digest": prepared.plan_digest}],
        **_attestations(attestations),
        "config_folder": str(prepared.loaded.folder),
        "git_commit": git_commit(prepared.loaded.folder),
        "platform": platform.platform(),
        "dependencies": dependencies(),
        "started_at": started_at,
        "ended_at": None,
        "sessions": 1,
    }


def resumed_manifest(
    manifest: dict[str, Any], prepared: Prepared, session: int, attestations: JsonObject | None = None
) -> dict[str, Any]:
    """The manifest of a run that goes on: where it began stays, the rest is that of its latest plan.

    Args:
        manifest: as it was.
        prepared: the run as it is now.
        session: the number of the session that begins, from 1.
        attestations: what its tasks have earned by now; None for a kind without contracts.
    """
    plans = _earlier_plans(manifest)
    if plans[-1].get("plan_digest") != prepared.plan_digest:
        plans.append({"session": session, "plan_digest": prepared.plan_digest})
    now = {**_plan(prepared), **_attestations(attestations)}
    return {**manifest, **now, "plans": plans, "ended_at": None, "sessions": session}


def _attestations(attestations: JsonObject | None) -> dict[str, Any]:
    return {} if attestations is None else {ATTESTATIONS: attestations}


def earned_info(run_dir: Path) -> dict[str, Any]:
    """What ``info`` says of attestations: what its manifest says, and nothing where an earlier version wrote that."""
    return _attestations(read_manifest(run_dir).get(ATTESTATIONS))


def _earlier_plans(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The plans that a run has had, as far as a file that anybody may have edited says so."""
    said = manifest.get("plans")
    plans = [plan for plan in said if isinstance(plan, dict)] if isinstance(said, list) else []
    return plans or [{"session": 1, "plan_digest": manifest.get("plan_digest")}]


def _plan(prepared: Prepared) -> dict[str, Any]:
    """What a session goes by. Configuration and code say, later on, what of it has changed."""
    return {
        "kind": prepared.kind.name,
        "versions": versions(),
        "plan_digest": prepared.plan_digest,
        **prepared.info(),
        "parts": prepared.parts,
        "code": prepared.code,
        "config": prepared.config.written(),
        "pack_manifest": prepared.pack_manifest,
        "run_seed": prepared.config.run.seed,
        "seeds": seeds_of(prepared),
    }


def seeds_of(prepared: Prepared) -> dict[str, int] | None:
    """The seeds of the first task's first and last trial, the smaller one first; None where nobody can say."""
    found = [_seed(prepared, trial) for trial in (0, prepared.plan.trials - 1)]
    seeds = sorted(seed for seed in found if seed is not None)
    return {"first": seeds[0], "last": seeds[-1]} if seeds else None


def _seed(prepared: Prepared, trial: int) -> int | None:
    """The seed of a trial, or None where the provider cannot say; such a trial is told of when its turn comes."""
    try:
        return prepared.payload(0, trial).seed
    except BaseException as error:  # noqa: BLE001 - a provider may raise anything, and no figure depends on this file
        let_interruptions_through(error)
        return None


def git_commit(folder: Path) -> str | None:
    """The commit that ``folder`` is at, or None where it is in no repository or git is not there."""
    command = ["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def write_manifest(run_dir: Path, manifest: dict[str, Any]) -> None:
    """Put the manifest in place."""
    write_atomically(run_dir / MANIFEST, orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def read_manifest(run_dir: Path) -> dict[str, Any]:
    """The manifest of a run, or nothing where it cannot be read: no figure depends on it."""
    try:
        found = orjson.loads((run_dir / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return found if isinstance(found, dict) else {}
