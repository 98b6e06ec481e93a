"""What a run's ``info`` says of attestations, for whoever shows it or depends on it (pure).

``info["attestations"]``, in ``summary.json`` and in the manifest, is made by ``orchestrator.audit.attest``::

    {"audit": digest of the audit that counts or null, "problem": why none counts, "trials_compared": N,
     "tasks": {task_id: [attestations that it has earned]}}

Runs of earlier versions, and of kinds without contracts, do not have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spec.errors import InputError

KEY: Final = "attestations"
AUDITED: Final = "adversarially_audited"
ISOLATED: Final = "isolated_from_agent"
UNIQUE: Final = "trial_unique_payload"
CONTROLS: Final = "refusal_controls"

MARK: Final = "†"
"""Stands behind the name of a task that has no passed audit."""

_NAMES_SHOWN: Final = 10
_WORDS: Final = {
    AUDITED: "adversarially audited",
    ISOLATED: "isolated from the agent",
    UNIQUE: "with a payload of each trial's own",
    CONTROLS: "with refusal controls",
}


def unaudited(info: Mapping[str, Any]) -> list[str]:
    """The tasks without a passed audit; empty where nothing is said of audits."""
    return [task_id for task_id, earned in _tasks(info).items() if AUDITED not in earned]


def attested(info: Mapping[str, Any]) -> None:
    """Refuse what must not be submitted: figures of a run in which a task has no passed audit.

    Args:
        info: as in ``summary.json`` or in the manifest of the run.

    Raises:
        InputError: with the tasks, and why.
    """
    if not isinstance(info.get(KEY), Mapping):
        raise InputError("the run says nothing of audits: an earlier version made it, or its kind has no contracts")
    warning = audit_warning(info)
    if warning:
        raise InputError(warning)


def audit_warning(info: Mapping[str, Any]) -> str:
    """Which tasks have no passed audit, and why, as a sentence; "" where all have one or nothing is said."""
    missing = unaudited(info)
    if not missing:
        return ""
    shown, more = missing[:_NAMES_SHOWN], len(missing) - _NAMES_SHOWN
    names = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
    why = str(info[KEY].get("problem") or "their audit has not passed")
    return f"{len(missing)} of {len(_tasks(info))} tasks have no passed audit, marked {MARK}: {names}; {why}."


def attestation_sentence(info: Mapping[str, Any]) -> str:
    """How many tasks have earned each attestation; "" where nothing is said."""
    tasks = _tasks(info)
    if not tasks:
        return ""
    counts = {name: sum(name in earned for earned in tasks.values()) for name in _WORDS}
    parts = ", ".join(f"{counts[name]} {words}" for name, words in _WORDS.items())
    return f"Of {len(tasks)} tasks, by evidence: {parts}."


def _tasks(info: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
    found = info.get(KEY)
    tasks = found.get("tasks") if isinstance(found, Mapping) else None
    if not isinstance(tasks, Mapping):
        return {}
    # A file of a run may have been edited: what is no list of names has earned nothing.
    return {task_id: earned if isinstance(earned, list) else [] for task_id, earned in tasks.items()}
