"""The directory of a run: which one it is, who may use it, and what lies in it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from orchestrator.config import RunConfig
from orchestrator.files import DIRECTORY_MODE
from orchestrator.history import JOURNAL_NAME
from orchestrator.preparation import Prepared
from orchestrator.runlock import LOCK_NAME, RunLock
from spec.clock import Clock
from spec.errors import InputError, RunLocked

RUN_TOML: Final = "run.toml"
_SAME_NAME_MAX: Final = 1000


class Claimed(NamedTuple):
    """A run that has its directory, and nothing in it yet.

    Attributes:
        lock: of the directory, held.
        run_id: the run's name.
    """

    prepared: Prepared
    lock: RunLock
    run_id: str


def claim(prepared: Prepared, run_dir: Path | None, clock: Clock) -> Claimed:
    """Lock a new run's directory. This comes before the imports that a session takes: a second start is refused soon.

    Args:
        prepared: what is to be run.
        run_dir: a new or empty directory; None makes one under ``run.dir``.
        clock: for the run's name.

    Raises:
        RunLocked: a live process holds ``run_dir``.
        InputError: it holds a run, or anything else.
    """
    if run_dir is None:
        return Claimed(prepared, *new_run_dir(prepared.config, prepared.plan_digest, clock))
    return Claimed(prepared, given_run_dir(run_dir), new_run_id(prepared.config, prepared.plan_digest, clock))


def new_run_id(config: RunConfig, plan_digest: str, clock: Clock) -> str:
    """The name of a run that begins now: ``<name>-<YYYYMMDDTHHMMSSZ>-<6 hex of the plan digest>``."""
    stamp = clock.utc_now()[:19].replace("-", "").replace(":", "") + "Z"
    return f"{config.run.name}-{stamp}-{plan_digest.removeprefix('sha256:')[:6]}"


def new_run_dir(config: RunConfig, plan_digest: str, clock: Clock) -> tuple[RunLock, str]:
    """Make and lock the directory of a new run under ``run.dir``.

    Returns:
        The held lock and the run id, with ``-2``, ``-3`` and so on behind it where that exists.
    """
    base = new_run_id(config, plan_digest, clock)
    for number in range(1, _SAME_NAME_MAX + 1):
        run_id = base if number == 1 else f"{base}-{number}"
        directory = Path(config.run.dir).absolute() / run_id
        if not directory.exists():
            try:
                return RunLock.acquire(directory, create=True), run_id
            except RunLocked:
                continue
    raise InputError(f"{config.run.dir}: {_SAME_NAME_MAX} runs have the name {base}")


def given_run_dir(directory: Path) -> RunLock:
    """Lock the directory that ``--run-dir`` names and see that it is empty.

    Raises:
        RunLocked: a live process holds it.
        InputError: it holds a run, or anything else.
    """
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--run-dir: {directory} is no directory")
    lock = RunLock.acquire(directory.absolute(), create=True)
    names = {entry.name for entry in directory.iterdir()} - {LOCK_NAME}
    if JOURNAL_NAME in names:
        lock.release()
        raise InputError(f"--run-dir: {directory} already holds a run; use `resume {directory}`")
    if names:
        lock.discard()
        raise InputError(f"--run-dir: {directory} is not empty ({min(names)}); name a new directory")
    lock.directory.chmod(DIRECTORY_MODE)
    return lock
