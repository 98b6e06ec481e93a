"""Goes on with a run: what is owed, and only that, from the run's own configuration.

A run whose plan has changed goes on only where that is accepted. Then the trials that are other ones now are owed
again, and all others are kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from orchestrator.outlook import Outlook, look_ahead
from orchestrator.runlock import RunLock
from orchestrator.session import Ended, continue_run
from orchestrator.stored import holds_run
from orchestrator.watcher import Watcher
from spec.errors import InputError


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
        sets: ``key=value`` texts that change the run's own configuration.
        retry: of ``RETRIABLE``: trials that ended so are owed again.
        accept_changes: whether a change of the plan was accepted.

    Raises:
        InputError: there is no run, or its plan has changed and nobody accepted that.
        OrchestratorError: as for ``run``.
    """
    if not holds_run(lock.directory):
        lock.discard()  # the lock's file must not be left in a directory that is no run's
    outlook = look_ahead(lock.directory, environ, sets=sets, retry=retry)
    if outlook.changed and not accept_changes:
        raise InputError(
            f"{outlook.run_dir}: this is no longer the run that was begun: {'; '.join(outlook.changed)}. "
            f"{invalidation(outlook)}. `--accept-changes` goes on so; else start a new run, or put back what changed"
        )
    if outlook.invalidated:
        watcher.notice(invalidation(outlook))
    return continue_run(lock, outlook.prepared, outlook.history, outlook.reopen, watcher, outlook.changes)


def invalidation(outlook: Outlook) -> str:
    """How many ended trials are other ones now, arm by arm with some keys, and how many are kept."""
    arms = outlook.arms()
    kept = sum(arm.kept for arm in arms.values())
    left = sum(arm.left for arm in arms.values())
    beside = f"; {left} ended trials are no longer planned" if left else ""
    if not outlook.invalidated:
        return f"It invalidates no ended trial: {kept} are kept{beside}"
    parts = []
    for name, arm in arms.items():
        if arm.invalidated:
            more = ", ..." if arm.invalidated > len(arm.examples) else ""
            parts.append(f"{arm.invalidated} of {name} ({', '.join(arm.examples)}{more})")
    return f"It invalidates {len(outlook.invalidated)} ended trials: {', '.join(parts)}; {kept} are kept{beside}"
