"""Which backend a configuration asks for, with the setups that its workers and oracles are built from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from oracle.hosting import OracleSetup
from oracle.retry import RetryPolicy
from orchestrator.credentials import NOTHING_TAKEN, Taken
from orchestrator.engine.hosting import ArmSetup, ProviderSetup, WorkerSetup
from orchestrator.engine.inline import host_inline
from orchestrator.engine.leftovers import Run
from orchestrator.engine.peers import Crew
from orchestrator.engine.shipping import pieces
from orchestrator.engine.worker import WorkerLimits
from orchestrator.kinds import KINDS
from orchestrator.preparation import Prepared
from spec.clock import SystemClock

Body = Callable[[Crew], Awaitable[None]]
Backend = Callable[[Body], Awaitable[None]]
"""Runs a body with workers and oracles that answer, and tidies them away afterwards."""


def backend_of(
    prepared: Prepared, run: Run, notice: Callable[[str], None], credentials: Taken = NOTHING_TAKEN
) -> Backend:
    """The configured backend, not started.

    Args:
        prepared: what is to be run.
        run: as which run, where.
        notice: told in one line what a person should know.
        credentials: what the oracle reads the record with.
    """
    engine = prepared.config.engine
    oracle = oracle_setup(prepared, credentials)
    if engine.kind == "inline":
        return partial(host_inline, _worker_setup(prepared, "worker-0"), oracle, SystemClock())
    from orchestrator.engine.ray_backend import host_on_ray

    async def on_ray(body: Body) -> None:
        await host_on_ray(
            address=engine.address,
            workers=engine.workers,
            worker=partial(_worker_setup, prepared),
            oracles=prepared.config.oracle.actors,
            oracle=oracle,
            body=body,
            ship=partial(pieces, prepared.loaded.folder, _references(prepared), files=prepared.reads_folder),
            run=run,
            notice=notice,
        )

    return on_ray


def _worker_setup(prepared: Prepared, worker_id: str) -> WorkerSetup:
    config = prepared.config
    table, limits = config.provider, config.limits
    return WorkerSetup(
        worker_id=worker_id,
        provider=ProviderSetup(table.use, table.pack, table.split, dict(table.options), prepared.loaded.folder),
        arms=[ArmSetup(arm.name, arm.use, dict(arm.options), config.arm_deadline_s(arm)) for arm in config.arms],
        side=prepared.kind.worker,
        limits=WorkerLimits(
            open_s=limits.open_s,
            close_s=limits.close_s,
            idle_s=limits.idle_s,
            report_bytes_max=limits.report_bytes_max,
            threads_max=config.engine.in_flight,
        ),
    )


def _references(prepared: Prepared) -> list[str]:
    kind, config = prepared.kind, prepared.config
    return [kind.worker, kind.oracle, kind.driver, config.provider.use, *(arm.use for arm in config.arms)]


def oracle_setup(prepared: Prepared, credentials: Taken = NOTHING_TAKEN) -> OracleSetup:
    """What every oracle of a run is built from."""
    table = prepared.config.oracle
    return OracleSetup(
        side=prepared.kind.oracle,
        fields=prepared.side.oracle_fields(),
        policy=RetryPolicy(table.read_attempts, table.read_deadline_s),
        baseline_s=prepared.config.limits.baseline_s,
        folder=None if prepared.kind in KINDS.values() else prepared.loaded.folder,
        credentials=credentials.sent,
        on_node=credentials.on_node,
    )
