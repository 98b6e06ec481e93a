"""Run what a configuration asks for, or what a run still owes: the whole of a session, from the lock to the report.

The order matters. The lock is taken before the journal is looked at; the disk is tried before the first trial; the
journal is closed before the results are made from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import orjson
from anyio.abc import TaskGroup

from orchestrator.audit import Found, attest, find_audit, path_beside, to_bytes
from orchestrator.config import Change, LoadedConfig
from orchestrator.content import Content, other_digest
from orchestrator.control.lastlook import remove_last_look
from orchestrator.control.live import LiveControl
from orchestrator.credentials import Taken, check_credentials, taken_credentials
from orchestrator.engine.backends import Backend, backend_of
from orchestrator.engine.driver import Driver
from orchestrator.engine.leasing import Leasing
from orchestrator.engine.leftovers import Run
from orchestrator.engine.peers import Crew
from orchestrator.engine.progress import report_progress
from orchestrator.engine.rules import Rules
from orchestrator.engine.signals import Signals
from orchestrator.files import check_room, write_atomically
from orchestrator.history import JOURNAL_NAME, History, LatestPlan, begin
from orchestrator.journal import JOURNAL_FORMAT, Journal, LineReader, LineType
from orchestrator.ledger import Ledger
from orchestrator.log import LoggedWatcher, RunLog
from orchestrator.manifest import earned_info, new_manifest, read_manifest, resumed_manifest, versions, write_manifest
from orchestrator.preparation import Prepared, check_provider, prepare
from orchestrator.results import kept_info, write_results
from orchestrator.rundir import RUN_TOML, Claimed, claim
from orchestrator.runlock import RunLock
from orchestrator.watcher import Silence, Watcher
from spec.canonical import Json, JsonObject
from spec.clock import Clock, SystemClock
from spec.errors import InputError, OrchestratorError, RunIncomplete
from spec.groups import leaves
from spec.memory import rare_collection

COMPLETE: Final = 0
INCOMPLETE: Final = 3
REOPENED_MAX: Final = 10_000
"""Lines that a session may gather before it syncs them."""

_NOTHING: Final[JsonObject] = {}
_ONLY_PLAN: Final = LatestPlan()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session ended.

    Attributes:
        exit_code: what the process should end with.
        summary: summary.json, as written.
        lost: why the session ended early, or "".
        headline: names of the kind's headline figures, in order.
    """

    run_dir: Path
    exit_code: int
    summary: Mapping[str, Any]
    lost: str = ""
    headline: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Session:
    """One process's work on a run directory that it has locked.

    Attributes:
        leases: how many leases earlier sessions wrote.
        number: which session of the run this is, from 1.
        latest: by which plan it goes.
    """

    run_dir: Path
    run_id: str
    prepared: Prepared
    journal: Journal
    ledger: Ledger
    leases: int
    number: int
    clock: Clock
    latest: LatestPlan = _ONLY_PLAN


def run(
    loaded: LoadedConfig,
    *,
    run_dir: Path | None = None,
    watcher: Watcher | None = None,
    clock: Clock | None = None,
) -> Ended:
    """Run a configuration from its first trial.

    Args:
        loaded: the configuration.
        run_dir: a new or empty directory; None makes one under ``run.dir``.
        watcher: is told what happens.
        clock: where time comes from.

    Raises:
        OrchestratorError: see ``spec.errors``; each says what to do.
    """
    clock = clock or SystemClock()
    prepared = prepare(loaded)
    check_provider(prepared)
    return begin_run(claim(prepared, run_dir, clock), watcher or Silence(), clock)


def begin_run(claimed: Claimed, watcher: Watcher, clock: Clock) -> Ended:
    """Run what was prepared, in the directory that was locked for it; the lock is given back.

    Args:
        claimed: the run and its directory.
        watcher: is told what happens.
        clock: where time comes from.
    """
    with claimed.lock:
        session = _begin(claimed.lock, claimed.run_id, claimed.prepared, clock)
        return _work(session, watcher)


def _begin(lock: RunLock, run_id: str, prepared: Prepared, clock: Clock) -> Session:
    """Write the files that say what the run is, the journal last."""
    directory = lock.directory
    check_room(directory, prepared.config.limits.disk_free_min_bytes)
    write_atomically(directory / RUN_TOML, prepared.loaded.effective_toml.encode())
    found = _keep_audit(directory, prepared)
    write_manifest(directory, new_manifest(prepared, run_id, clock.utc_now(), attest(prepared, found)))
    head: dict[str, Json] = {
        "run_id": run_id,
        "format": JOURNAL_FORMAT,
        "plan_digest": prepared.plan_digest,
        "parts": dict(prepared.parts),
        "versions": dict(versions()),
        "isolation": dict(prepared.isolation()),
    }
    journal = Journal.create(directory / JOURNAL_NAME, head, clock=clock)
    return Session(directory, run_id, prepared, journal, Ledger(prepared.plan), 0, 1, clock)


def continue_run(
    lock: RunLock,
    prepared: Prepared,
    history: History,
    reopen: Mapping[int, str],
    watcher: Watcher,
    changes: Sequence[Change] = (),
) -> Ended:
    """Run what a run owes; the caller holds its lock, and what has changed of its plan was accepted.

    Args:
        lock: the held lock of the run directory.
        prepared: the run's configuration, prepared.
        history: its journal, read against that plan.
        reopen: ordinals of ended trials that are owed again -> why.
        watcher: is told what happens.
        changes: the keys of the configuration and the parts that differ from the session before.
    """
    clock = SystemClock()
    check_credentials(prepared.loaded, prepared.provider, os.environ)
    check_room(lock.directory, prepared.config.limits.disk_free_min_bytes)
    journal = Journal.resume(lock.directory / JOURNAL_NAME, history.recovered, clock=clock)
    write_atomically(lock.directory / RUN_TOML, prepared.loaded.effective_toml.encode())
    body: dict[str, Json] = {
        "plan_digest": prepared.plan_digest,
        "parts": dict(prepared.parts),
        "trials": prepared.plan.trials,
        "versions": dict(versions()),
        "isolation": dict(prepared.isolation()),
        "changes": [change._asdict() for change in changes],
    }
    since_bytes = journal.append(LineType.RESUME, None, body)
    if history.recovered.cut is not None:
        watcher.notice(str(history.recovered.cut))
        journal.append(LineType.NOTE, None, {"text": str(history.recovered.cut)})
    begin(history.ledger, history.parts, prepared.parts)
    anyio.run(_reopen, journal, prepared, history.ledger, reopen)
    same = history.session.get("plan_digest") == prepared.plan_digest
    latest = history.latest if same else LatestPlan(history.latest.number + 1, since_bytes)
    run_id, number = str(history.recovered.head["run_id"]), len(history.recovered.sessions) + 1
    session = Session(lock.directory, run_id, prepared, journal, history.ledger, history.leases, number, clock, latest)
    found = _keep_audit(lock.directory, prepared)
    manifest = resumed_manifest(read_manifest(lock.directory), prepared, number, attest(prepared, found))
    write_manifest(lock.directory, manifest)
    return _work(session, watcher)


def _keep_audit(directory: Path, prepared: Prepared) -> Found:
    """Put the audit that counts beside the run's own configuration, where a later session looks for it."""
    found = find_audit(prepared)
    if found.document is not None:
        write_atomically(path_beside(directory / RUN_TOML), to_bytes(found.document))
    return found


async def _reopen(journal: Journal, prepared: Prepared, ledger: Ledger, reopen: Mapping[int, str]) -> None:
    """Open the session on the disk, so that whoever reads the run from now on knows its plan."""
    for count, (ordinal, why) in enumerate(reopen.items(), 1):
        attempt = ledger.next_attempt(ordinal) - 1
        journal.append(LineType.REOPENED, prepared.plan.key(ordinal), {"attempt": attempt, "why": why})
        ledger.reopened(ordinal)
        if count % REOPENED_MAX == 0:
            await journal.commit()
    await journal.commit()


def _work(session: Session, watcher: Watcher) -> Ended:
    """Carry a session through: trials, the journal's end, results, manifest."""
    with RunLog(session.run_dir, session.clock) as log:
        told = LoggedWatcher(watcher, log.logger)
        try:
            prepared = session.prepared
            taken = taken_credentials(prepared.loaded, prepared.provider, os.environ)
            with taken as credentials, _one_error(), rare_collection():
                exit_code, lost = anyio.run(_drive, session, told, credentials)
        finally:
            session.journal.close()
        told.ended()
        earned = earned_info(session.run_dir)
        summary = make_results(
            session.run_dir, session.run_id, session.prepared, session.ledger, earned, latest=session.latest
        )
        _end_manifest(session)
        return Ended(session.run_dir, exit_code, summary, lost, tuple(session.prepared.side.headline({})))


async def _drive(session: Session, watcher: Watcher, credentials: Taken) -> tuple[int, str]:
    """The trials themselves; the journal is whole and ended when this returns."""
    config = session.prepared.config
    signals = Signals(watcher.notice, config.run.drain_s)
    watcher.started(session.run_dir, len(session.prepared.plan), session.ledger.owed())
    lost = ""
    async with anyio.create_task_group() as listening:
        if session.ledger.owed():
            run = Run(session.run_id, session.run_dir)
            host = backend_of(session.prepared, run, watcher.notice, credentials)
            lost = await _host(host, session, signals, watcher, listening)
        session.ledger.check()
        exit_code = signals.exit_code or (INCOMPLETE if session.ledger.owed() else COMPLETE)
        await session.journal.finish({"exit": exit_code, "conservation": session.ledger.conservation()})
        if not lost:
            remove_last_look(session.run_dir)
        listening.cancel_scope.cancel()
    return exit_code, lost


async def _host(host: Backend, session: Session, signals: Signals, watcher: Watcher, listening: TaskGroup) -> str:
    """Run the driver on a backend; why it ended early, or "".

    Signals are listened to from the first trial on, and beyond the last one: what they would interrupt by then is the
    backend's tidying up and the journal's last line.
    """
    driver = _driver(session, watcher)
    control = _control(session, driver, watcher)

    async def body(crew: Crew) -> None:
        listening.start_soon(signals.listen, driver)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(report_progress, driver, session.prepared.side, watcher, session.clock)
            tasks.start_soon(control.serve)
            await driver.run(crew)
            tasks.cancel_scope.cancel()

    lost: list[str] = []
    try:
        await host(body)
    except* RunIncomplete as group:
        lost.append(str(leaves(group)[0]))
    if not lost or not session.ledger.owed():
        return ""  # what is lost behind the last trial is nobody's loss
    watcher.notice(f"{lost[0]}. What it was doing is owed; `resume {session.run_dir}` goes on")
    return lost[0]


def _control(session: Session, driver: Driver, watcher: Watcher) -> LiveControl:
    async def note(text: str) -> None:
        session.journal.append(LineType.NOTE, None, {"text": text})
        await session.journal.commit()

    return LiveControl(
        driver,
        session.run_dir,
        session=session.number,
        heartbeat_s=session.prepared.config.limits.heartbeat_s,
        environ=dict(os.environ),
        clock=session.clock,
        note=note,
        notice=watcher.notice,
    )


def _driver(session: Session, watcher: Watcher) -> Driver:
    prepared, config = session.prepared, session.prepared.config
    leasing = Leasing(
        plan=prepared.plan,
        ledger=session.ledger,
        in_flight=config.engine.in_flight,
        limits={arm.name: arm.in_flight for arm in config.arms},
        lease_max=config.engine.lease_max,
    )
    rules = Rules(
        attempts=config.run.attempts,
        drain_s=config.run.drain_s,
        group_commit_s=config.limits.group_commit_ms / 1000,
        stall_report_s=config.limits.stall_report_s,
        heartbeat_s=config.limits.heartbeat_s,
        losses_max=config.limits.worker_failures_max,
        open_s=config.limits.open_s,
        baseline_s=config.limits.baseline_s,
        deadlines_s={arm.name: config.arm_deadline_s(arm) for arm in config.arms},
        read_s=prepared.patience_s() + config.oracle.read_attempts * config.oracle.read_deadline_s,
        isolation=prepared.isolation(),
    )
    return Driver(
        plan=prepared.plan,
        ledger=session.ledger,
        leasing=leasing,
        journal=session.journal,
        side=prepared.side,
        not_reported=prepared.not_reported,
        payload=prepared.payload,
        trial_digest=prepared.trial_digest,
        rules=rules,
        clock=session.clock,
        notice=watcher.notice,
        leases=session.leases,
    )


def make_results(
    run_dir: Path,
    run_id: str,
    prepared: Prepared,
    ledger: Ledger,
    known: JsonObject = _NOTHING,
    *,
    latest: LatestPlan = _ONLY_PLAN,
    content: Content | None = None,
) -> dict[str, Any]:
    """Make every derived file of a run from its journal.

    Args:
        run_dir: the run directory.
        run_id: the run's name.
        prepared: its configuration, prepared.
        ledger: how its trials stand.
        known: what the figures are about, where the run itself knows better than what was prepared now.
        latest: the plan that they belong to.
        content: what its trials are made of; None: as was prepared.

    Returns:
        The summary, as written.

    Raises:
        InputError: a trial that was kept from an earlier plan is not one of the latest.
    """
    content = content or prepared.content
    with LineReader(run_dir / JOURNAL_NAME) as lines:

        def terminal(ordinal: int) -> bytes | None:
            offset_bytes = ledger.offset_bytes(ordinal)
            if offset_bytes is None:
                return None
            line = lines.read(offset_bytes)
            if offset_bytes < latest.since_bytes and other_digest(content, ordinal, orjson.loads(line), None):
                raise InputError(
                    f"{run_dir}: {prepared.plan.key(ordinal)} was run under an earlier plan and is another trial in "
                    f"the latest; `resume {run_dir}` owes it again"
                )
            return line

        return write_results(
            run_dir,
            run_id=run_id,
            kind_name=prepared.kind.name,
            driver_side=prepared.side,
            plan=prepared.plan,
            terminal=terminal,
            counts=ledger.counts(),
            info={**prepared.info(), **known, **kept_info(latest, ledger)},
            seed=prepared.config.run.seed,
        )


def _end_manifest(session: Session) -> None:
    """Say when the run ended, and what a later session may have changed."""
    write_manifest(
        session.run_dir,
        {
            **read_manifest(session.run_dir),
            **kept_info(session.latest, session.ledger),
            "ended_at": session.clock.utc_now(),
        },
    )


@contextmanager
def _one_error() -> Iterator[None]:
    """Let one plain error out where task groups have wrapped it."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours = [error for error in leaves(group) if isinstance(error, OrchestratorError)]
        raise (ours or leaves(group))[0] from group
