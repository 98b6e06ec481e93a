"""The backend on Ray: puts workers and oracles on a cluster, replaces lost ones, and tidies up.

Every actor has ``max_restarts = 0`` and ``max_task_retries = 0``: Ray's own retries lose and duplicate rows without a
word. Oracles have no name, and only the driver holds their handles.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from oracle.hosting import OracleSetup
from orchestrator.engine.hosting import WorkerSetup
from orchestrator.engine.peers import Crew, OraclePeer, WorkerPeer
from orchestrator.engine.ray_cluster import cluster, ended_processes
from orchestrator.engine.ray_errors import Place, first_line, place_of
from spec.errors import InputError, OrchestratorError, PeerLost, RunIncomplete
from spec.messages import OracleEvent, OracleOrders, WorkerEvent, WorkerOrders
from spec.wire import decode_events
from spec.wire_orders import decode_oracle_events, encode_oracle_orders, encode_worker_orders

COALESCE_S: Final = 0.002
CALLS_AT_ONCE: Final = 16
SNAPSHOT_THREADS: Final = 2
STOP_S: Final = 2.0
START_S: Final = 60.0
WATCH_S: Final = 1.0
SETTLE_S: Final = 0.3

Body = Callable[[Crew], Awaitable[None]]


async def host_on_ray(
    *,
    address: str,
    workers: int,
    worker: Callable[[str], WorkerSetup],
    oracles: int,
    oracle: OracleSetup,
    body: Body,
    notice: Callable[[str], None],
) -> None:
    """Run ``body`` with workers and oracles on Ray.

    Args:
        address: "" starts a cluster here; "host:port" joins one; "job" is the cluster of this Ray job.
        workers: how many workers.
        worker: the setup of the worker of a name.
        oracles: how many oracles.
        oracle: the setup of every oracle.
        body: called with the crew.
        notice: told in one line what a person should know.

    Raises:
        InputError: the cluster or an actor could not be set up.
        RunIncomplete: the cluster was lost.
    """
    with cluster(address, notice):
        try:
            async with anyio.create_task_group() as tasks:
                crew = RayCrew(worker, oracle, tasks)
                await crew.muster(workers, oracles)
                try:
                    await body(crew)
                finally:
                    await crew.dismiss()
                    tasks.cancel_scope.cancel()
        except* OrchestratorError:
            raise
        except* Exception as group:
            raise _placed(group) from group


class RayCrew:
    """Workers and oracles on Ray, and how to have another one in the place of a lost one.

    Args:
        worker: the setup of the worker of a name.
        oracle: the setup of every oracle.
        tasks: parent of the calls in which they serve.
    """

    def __init__(self, worker: Callable[[str], WorkerSetup], oracle: OracleSetup, tasks: TaskGroup) -> None:
        self._worker_setup, self._oracle_setup, self._tasks = worker, oracle, tasks
        self._worker_actors: dict[str, Any] = {}
        self._oracle_actors: dict[str, Any] = {}
        self.workers: list[WorkerPeer] = []
        self.oracles: list[OraclePeer] = []

    async def muster(self, workers: int, oracles: int) -> None:
        """Have the first ones; all of them start at once."""
        async with anyio.create_task_group() as starting:
            for _ in range(workers):
                self.workers.append(self._new_worker())
            for _ in range(oracles):
                self.oracles.append(self._new_oracle())
            for worker in self.workers:
                starting.start_soon(self._ready, worker)
            for oracle in self.oracles:
                starting.start_soon(self._ready, oracle)

    def _new_worker(self) -> RayWorkerPeer:
        from orchestrator.engine.ray_worker import SNAPSHOTS, RayWorker

        name = f"worker-{len(self._worker_actors)}"
        actor = _actor(RayWorker, {SNAPSHOTS: SNAPSHOT_THREADS}, self._worker_setup(name), COALESCE_S)
        self._worker_actors[name] = actor
        self._tasks.start_soon(_serve, actor)
        return RayWorkerPeer(name, actor)

    def _new_oracle(self) -> RayOraclePeer:
        from oracle.ray_oracle import RayOracle

        name = f"oracle-{len(self._oracle_actors)}"
        actor = _actor(RayOracle, {}, self._oracle_setup, self._worker_actors, COALESCE_S)
        self._oracle_actors[name] = actor
        self._tasks.start_soon(_serve, actor)
        return RayOraclePeer(name, actor)

    async def another_worker(self) -> WorkerPeer:
        """A fresh worker that every oracle can ask for its records."""
        await self._check()
        peer = self._new_worker()
        await self._ready(peer)
        for actor in self._oracle_actors.values():
            with suppress(PeerLost):  # a lost oracle is replaced by one that knows all workers
                await _call(peer.name, actor.meet.remote(peer.name, self._worker_actors[peer.name]))
        return peer

    async def another_oracle(self) -> OraclePeer:
        """A fresh oracle that knows every worker."""
        await self._check()
        peer = self._new_oracle()
        await self._ready(peer)
        return peer

    async def _ready(self, peer: WorkerPeer | OraclePeer) -> None:
        try:
            with anyio.fail_after(START_S):
                await peer.ping()
        except TimeoutError as error:
            raise RunIncomplete(f"Ray gave no process for {peer.name} within {START_S:g} s") from error
        except PeerLost as error:
            raise RunIncomplete(f"{peer.name} could not start: {error.why}") from error

    async def watch(self) -> None:
        """Watch Ray's own processes on this machine, which nothing else would miss for a long time."""
        while True:
            await anyio.sleep(WATCH_S)
            _check_cluster()

    async def _check(self) -> None:
        """See that there is a cluster to start anything on: Ray ends the whole process that asks a dead one.

        Raises:
            RunIncomplete: it is gone.
        """
        await anyio.sleep(SETTLE_S)  # its members may die a moment before it is seen dead itself
        _check_cluster()

    async def dismiss(self) -> None:
        """Let everybody close what they hold, within its own limits, then end them."""
        import ray

        actors = [*self._worker_actors.values(), *self._oracle_actors.values()]
        with anyio.move_on_after(_stop_s(self._worker_setup(""), self._oracle_setup), shield=True):
            await _stop(actors)
        for actor in actors:
            ray.kill(actor)


def _check_cluster() -> None:
    for name in ended_processes():
        raise RunIncomplete(f"the Ray cluster was lost: {name} has ended. `resume` goes on with what is owed")


def _actor(kind: type, groups: dict[str, int], *arguments: object) -> Any:  # noqa: ANN401 - Ray's handles have no type
    import ray

    remote: Any = ray.remote
    options: dict[str, object] = {
        "num_cpus": 0,
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": CALLS_AT_ONCE,
        "concurrency_groups": groups,
        "scheduling_strategy": "SPREAD",
    }
    return remote(**options)(kind).remote(*arguments)


async def _serve(actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
    """Stand by while a peer serves. Its loss shows where the driver talks to it, so it is not told from here."""
    try:
        await actor.serve.remote()
    except Exception as error:
        if place_of(error) is None:
            raise


async def _stop(actors: Sequence[Any]) -> None:
    """Let every actor close what it holds; one that gives no sign of life is not waited for."""
    async with anyio.create_task_group() as tasks:
        for actor in actors:
            tasks.start_soon(_stop_one, actor)


def _stop_s(worker: WorkerSetup, oracle: OracleSetup) -> float:
    """How long the peers may take to close: a worker its fixtures and its provider, an oracle its channels."""
    return STOP_S + max(2 * worker.limits.close_s, oracle.policy.read_deadline_s)


async def _stop_one(actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
    try:
        with anyio.move_on_after(STOP_S) as silent:
            await actor.pid.remote()
        if not silent.cancelled_caught:
            await actor.stop.remote()
    except Exception as error:
        if place_of(error) is None:
            raise


class RayWorkerPeer:
    """A worker behind Ray."""

    def __init__(self, name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
        self.name = name
        self._actor = actor

    async def post(self, orders: WorkerOrders) -> None:
        """Hand orders over."""
        await _call(self.name, self._actor.post.remote(encode_worker_orders(orders)))

    async def events(self) -> AsyncIterator[Sequence[WorkerEvent]]:
        """Its events in batches."""
        async for data in _stream(self.name, self._actor):
            yield decode_events(data)

    async def ping(self) -> None:
        """Return when it has given a sign of life."""
        await _call(self.name, self._actor.ping.remote())


class RayOraclePeer:
    """An oracle behind Ray."""

    def __init__(self, name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
        self.name = name
        self._actor = actor

    async def post(self, orders: OracleOrders) -> None:
        """Hand orders over."""
        await _call(self.name, self._actor.post.remote(encode_oracle_orders(orders)))

    async def events(self) -> AsyncIterator[Sequence[OracleEvent]]:
        """Its events in batches."""
        async for data in _stream(self.name, self._actor):
            yield decode_oracle_events(data)

    async def ping(self) -> None:
        """Return when it has given a sign of life."""
        await _call(self.name, self._actor.ping.remote())


async def _call(name: str, reference: Awaitable[object]) -> None:
    try:
        await reference
    except Exception as error:
        raise _lost(name, error) from error


async def _stream(name: str, actor: Any) -> AsyncIterator[Any]:  # noqa: ANN401 - Ray's handles have no type
    try:
        async for reference in actor.events.options(num_returns="streaming").remote():
            yield await reference
    except Exception as error:
        raise _lost(name, error) from error
    raise PeerLost(name, "its stream of events ended")


def _lost(name: str, error: Exception) -> Exception:
    place = place_of(error)
    if place is None:
        return error
    if place is Place.PEER_LOST:
        return PeerLost(name, first_line(error))
    return _error_of(place, first_line(error))


def _placed(group: BaseExceptionGroup[Exception]) -> Exception:
    """The error that says what became of the run, for errors that Ray itself raised."""
    leaves = list(_leaves(group))
    for error in leaves:
        place = place_of(error)
        if place is not None:
            return _error_of(place, first_line(error))
    return leaves[0]


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _error_of(place: Place, text: str) -> Exception:
    if place is Place.SET_UP:
        return InputError(f"Ray could not set the run up: {text}")
    if place is Place.OUR_FAULT:
        return OrchestratorError(f"an internal error at the Ray border: {text}")
    return RunIncomplete(f"the Ray cluster was lost ({place.value}): {text}. `resume` goes on with what is owed")
