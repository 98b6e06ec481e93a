"""Build a worker from plain fields, in whatever process it is to work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from arms.loading import instantiate, is_blocking
from orchestrator.engine.worker import HostedArm, Worker, WorkerLimits
from orchestrator.kinds.base import WorkerSide
from orchestrator.plugins import call_factory, import_reference, module_of, resolve_arm, resolve_provider
from orchestrator.shadow import OUR_PACKAGES
from providers.base import Provider
from spec.clock import Clock
from spec.sources import folder_here, module_digest, package_digest


class ProviderSetup(NamedTuple):
    """Which provider, as configured.

    Attributes:
        folder: where ``"module:attribute"`` is found on the driver's machine.
    """

    use: str
    pack: str
    split: str
    options: Mapping[str, Any]
    folder: Path


class ArmSetup(NamedTuple):
    """Which arm, as configured."""

    name: str
    use: str
    options: Mapping[str, Any]
    deadline_s: float


class WorkerSetup(NamedTuple):
    """Everything that a worker is built from; it survives pickling.

    Attributes:
        side: ``"module:attribute"`` of the kind's worker side.
    """

    worker_id: str
    provider: ProviderSetup
    arms: Sequence[ArmSetup]
    side: str
    limits: WorkerLimits


def build_provider(setup: ProviderSetup) -> Provider:
    """The configured provider, made anew.

    Raises:
        ConfigError: it cannot be found or made.
    """
    folder = folder_here(setup.folder)
    factory = resolve_provider(setup.use, folder)
    provider: Provider = call_factory(factory, pack=setup.pack, split=setup.split, options=setup.options, folder=folder)
    return provider


def build_worker(setup: WorkerSetup, clock: Clock) -> Worker:
    """A worker, ready to serve.

    Raises:
        ConfigError: its provider, its kind's side or one of its arms cannot be found or made.
    """
    provider = build_provider(setup.provider)
    folder = folder_here(setup.provider.folder)
    side_of: Any = import_reference(setup.side, folder)
    side: WorkerSide = side_of()
    return Worker(
        worker_id=setup.worker_id,
        provider=provider,
        tasks={task.task_id: task for task in provider.tasks()},
        arms={arm.name: _host(arm, folder) for arm in setup.arms},
        side=side,
        limits=setup.limits,
        clock=clock,
    )


def code_of(setup: WorkerSetup) -> dict[str, str]:
    """Package or module -> digest of what this process imports for a worker.

    Raises:
        ConfigError: something cannot be imported.
    """
    folder = folder_here(setup.provider.folder)
    found: list[object] = [resolve_provider(setup.provider.use, folder), import_reference(setup.side, folder)]
    found += [resolve_arm(arm.use, folder) for arm in setup.arms]
    return {
        **{name: package_digest(name) for name in OUR_PACKAGES},
        **{name: module_digest(name) for name in map(module_of, found) if name.partition(".")[0] not in OUR_PACKAGES},
    }


def _host(setup: ArmSetup, folder: Path) -> HostedArm:
    arm = instantiate(resolve_arm(setup.use, folder), dict(setup.options))
    return HostedArm(arm, is_blocking(arm), setup.deadline_s)
