"""Goes on with a run: what is owed, and only that, from the run's own configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.config import classify_changes
from orchestrator.history import JOURNAL_NAME, read_history
from orchestrator.ledger import Ledger, Standing
from orchestrator.preparation import Prepared
from orchestrator.runlock import RunLock
from orchestrator.session import Ended, continue_run
from orchestrator.stored import holds_run, load_run_config, part_changes, prepare_again, read_head
from orchestrator.watcher import Watcher
from spec.errors import InputError

RETRIABLE: Final[Mapping[str, Standing]] = {
    "unreadable": Standing.UNREADABLE,
    "infrastructure": Standing.INFRASTRUCTURE,
}
"""What ``--retry`` takes: how trials ended that may be owed again."""


def resume(
    lock: RunLock,
    *,
    environ: Mapping[str, str],
    watcher: Watcher,
    sets: Sequence[str] = (),
    retry: Collection[str] = (),
    accept_changes: bool = False,
) -> Ended:
    """Run what a run owes.

    Args:
        lock: the held lock of the run directory.
        environ: environment variables for ``${NAME}``.
        watcher: is told what happens.
        sets: ``key=value`` texts; only keys that no result depends on, and more trials.
        retry: of ``RETRIABLE``: trials that ended so are owed again.
        accept_changes: whether a change of the plan was accepted; this version can honour that of no change.

    Raises:
        InputError: there is no run, or it is not the one that was begun.
        OrchestratorError: as for ``run``.
    """
    if not holds_run(lock.directory):
        lock.discard()  # the lock's file must not be left in a directory that is no run's
    head = read_head(lock.directory)
    loaded = load_run_config(lock.directory, environ, sets=sets)
    changes = classify_changes(load_run_config(lock.directory, environ).config, loaded.config)
    changed = [f"{change.key} was {change.old!r} and would be {change.new!r}" for change in changes.gated]
    if changed:
        raise _refusal(lock.directory, changed, accept_changes)
    prepared = prepare_again(loaded)
    changed = _plan_changes(head, prepared)
    if changed:
        raise _refusal(lock.directory, changed, accept_changes)
    history = read_history(lock.directory / JOURNAL_NAME, prepared.plan)
    return continue_run(lock, prepared, history, owed_again(history.ledger, retry), watcher, changes.free)


def owed_again(ledger: Ledger, retry: Collection[str]) -> list[int]:
    """The ordinals of the trials that ended in one of the ways of ``retry``.

    Raises:
        InputError: a word is not one of ``RETRIABLE``.
    """
    unknown = [word for word in retry if word not in RETRIABLE]
    if unknown:
        raise InputError(f"--retry: {unknown[0]!r} cannot be owed again; known: {', '.join(RETRIABLE)}")
    wanted = {RETRIABLE[word] for word in retry}
    return [ordinal for ordinal in range(len(ledger.plan)) if wanted and ledger.standing(ordinal) in wanted]


def _plan_changes(head: Mapping[str, Any], prepared: Prepared) -> list[str]:
    """How what was prepared now differs from what the run began with."""
    changed = part_changes(head["parts"], prepared.parts)
    if not changed and head["plan_digest"] != prepared.plan_digest:
        changed.append("a key of run.toml that results depend on is not what the run began with")
    return changed


def _refusal(run_dir: Path, changed: Sequence[str], accepted: bool) -> InputError:
    flag = "--accept-changes cannot help: " if accepted else ""
    return InputError(
        f"{run_dir}: this is no longer the run that was begun: {'; '.join(changed)}. {flag}"
        "Mixing the rows of two plans is not possible in this version; start a new run, or put back what changed"
    )
