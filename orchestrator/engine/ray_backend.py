"""The backend on Ray: puts workers and oracles on a cluster, replaces lost ones, and tidies up.

Every actor has ``max_restarts = 0`` and ``max_task_retries = 0``: Ray's own retries lose and duplicate rows without a
word. Oracles have no name, and only the driver holds their handles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from oracle.hosting import OracleSetup
from oracle.hosting import code_of as code_of_oracle
from orchestrator.engine.hosting import WorkerSetup
from orchestrator.engine.hosting import code_of as code_of_worker
from orchestrator.engine.imports import check_imports
from orchestrator.engine.leftovers import Run
from orchestrator.engine.peers import Crew, OraclePeer, WorkerPeer
from orchestrator.engine.placement import Node, place, uses_head, workers_wanted
from orchestrator.engine.ray_cluster import Ship, cluster, ended_processes
from orchestrator.engine.ray_errors import creation_problem, first_line, place_of
from orchestrator.engine.ray_nodes import living_nodes, own_node_id
from orchestrator.engine.ray_peers import RayOraclePeer, RayWorkerPeer, call, error_of
from spec.errors import InputError, OrchestratorError, PeerLost, RunIncomplete

COALESCE_S: Final = 0.002
CALLS_AT_ONCE: Final = 16
SNAPSHOT_THREADS: Final = 2
STOP_S: Final = 2.0
START_S: Final = 60.0
WATCH_S: Final = 1.0
SETTLE_S: Final = 0.3
LOOK_S: Final = 2.0
"""Seconds between two looks at the nodes of a cluster that others run."""

STARTS_MAX: Final = 3
COULD_NOT_START: Final = "could not be started"
"""Nodes that are tried for a lost worker's replacement; one may go down while it starts there."""

Body = Callable[[Crew], Awaitable[None]]


async def host_on_ray(
    *,
    address: str,
    workers: int,
    worker: Callable[[str], WorkerSetup],
    oracles: int,
    oracle: OracleSetup,
    body: Body,
    ship: Ship,
    run: Run,
    notice: Callable[[str], None],
) -> None:
    """Run ``body`` with workers and oracles on Ray.

    Args:
        address: "" starts a cluster here; "host:port" joins one; "job" is the cluster of this Ray job.
        workers: how many workers; 0: one a core.
        worker: the setup of the worker of a name.
        oracles: how many oracles.
        oracle: the setup of every oracle.
        body: called with the crew.
        ship: how a cluster of others gets our code.
        run: what the cluster is for.
        notice: told in one line what a person should know.

    Raises:
        InputError: the cluster or an actor could not be set up.
        RunIncomplete: the cluster was lost.
    """
    with cluster(address, notice, ship, run):
        try:
            async with anyio.create_task_group() as tasks:
                crew = RayCrew(worker, oracle, tasks, asked=workers, joins=bool(address), notice=notice)
                await crew.muster(oracles)
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
        asked: how many workers; 0: one a core, also of nodes that come while the run works.
        joins: whether the cluster is somebody else's, so that nodes come and go.
        notice: told in one line what a person should know.
    """

    def __init__(
        self,
        worker: Callable[[str], WorkerSetup],
        oracle: OracleSetup,
        tasks: TaskGroup,
        *,
        asked: int,
        joins: bool,
        notice: Callable[[str], None],
    ) -> None:
        self._worker_setup, self._oracle_setup, self._tasks = worker, oracle, tasks
        self._asked, self._joins, self._notice = asked, joins, notice
        self._head_too = False
        self._staff: dict[str, RayWorkerPeer] = {}
        self._homes: dict[str, Node] = {}
        self._barred: set[str] = set()
        self._failed_starts: Counter[str] = Counter()
        self._waiting = 0
        self._worker_actors: dict[str, Any] = {}
        self._oracle_actors: dict[str, Any] = {}
        self.workers: list[WorkerPeer] = []
        self.oracles: list[OraclePeer] = []

    async def muster(self, oracles: int) -> None:
        """Have the first ones; all of them start at once."""
        nodes = await self._living()
        self._head_too = uses_head(nodes, self._asked)
        async with anyio.create_task_group() as starting:
            for _ in range(workers_wanted(nodes, self._asked)):
                node = self._place(nodes, full=False)
                assert node is not None  # this process itself is on one
                worker = self._new_worker(node)
                self.workers.append(worker)
                starting.start_soon(self._first, worker)
            for _ in range(oracles):
                oracle = self._new_oracle()
                self.oracles.append(oracle)
                starting.start_soon(self._first, oracle)
        if self._joins:
            spread = Counter(self._homes[name].host for name in self._staff)
            self._notice(f"this process is on node {own_node_id()[:12]}")
            self._notice("workers: " + ", ".join(f"{count} on {host}" for host, count in sorted(spread.items())))

    async def _living(self) -> list[Node]:
        """The nodes that live.

        Raises:
            RunIncomplete: this process's own is not among them, and Ray would end the process soon.
        """
        nodes = await living_nodes()
        if not any(node.node_id == own_node_id() for node in nodes):
            raise RunIncomplete("the Ray cluster was lost: the node of this process has ended")
        return nodes

    def _place(self, nodes: Sequence[Node], *, full: bool) -> Node | None:
        able = [node for node in nodes if node.node_id not in self._barred]
        load = Counter(self._homes[name].node_id for name in self._staff)
        return place(able, load, head_too=self._head_too, full=full)

    def _new_worker(self, node: Node) -> RayWorkerPeer:
        from orchestrator.engine.ray_worker import SNAPSHOTS, RayWorker

        name = f"worker-{len(self._worker_actors)}"
        setup = self._worker_setup(name)
        actor = _actor(RayWorker, node.node_id, {SNAPSHOTS: SNAPSHOT_THREADS}, setup, COALESCE_S)
        peer = RayWorkerPeer(name, actor)
        self._worker_actors[name], self._staff[name], self._homes[name] = actor, peer, node
        self._tasks.start_soon(_serve, peer)
        return peer

    def _new_oracle(self) -> RayOraclePeer:
        from oracle.ray_oracle import RayOracle

        name = f"oracle-{len(self._oracle_actors)}"
        actor = _actor(RayOracle, own_node_id(), {}, self._oracle_setup, self._worker_actors, COALESCE_S)
        self._oracle_actors[name] = actor
        peer = RayOraclePeer(name, actor)
        self._tasks.start_soon(_serve, peer)
        return peer

    async def another_worker(self, lost: WorkerPeer) -> WorkerPeer:
        """A fresh worker that every oracle can ask for its records.

        With one worker a core it waits until a core is free: the node that had the lost one may be gone.
        """
        await self._check()
        if lost.name in self._staff:
            self._staff[lost.name].left = True
        for _ in range(STARTS_MAX):
            peer = self._new_worker(await self._free_node())
            if await self._is_introduced(peer):
                return peer
        raise RunIncomplete("no worker could be started in the place of a lost one")

    async def _free_node(self) -> Node:
        self._waiting += 1
        try:
            while True:
                nodes = await self._living()
                self._dismiss_lost()
                node = self._place(nodes, full=self._joins and not self._asked and bool(self._staff))
                if node is not None:
                    return node
                if not self._staff:
                    raise RunIncomplete("no worker is left, and no node on which one could be started")
                await anyio.sleep(LOOK_S)
        finally:
            self._waiting -= 1

    def _dismiss_lost(self) -> None:
        """Let go of the workers that were given up; one that still lives must not take up a core."""
        for peer in [peer for peer in self._staff.values() if peer.left]:
            self._dismiss(peer)

    def _dismiss(self, peer: RayWorkerPeer) -> None:
        import ray

        ray.kill(self._staff.pop(peer.name).actor)

    async def joined(self) -> WorkerPeer:
        """One more worker, when a node has come that has room for it."""
        while not self._joins or self._asked:
            await anyio.sleep_forever()
        while True:
            nodes = await self._living()
            node = None if self._waiting else self._place(nodes, full=True)
            if node is None:
                await anyio.sleep(LOOK_S)
                continue
            peer = self._new_worker(node)
            if await self._is_introduced(peer):
                self._notice(f"node {node.host} has room: {peer.name} works there")
                return peer

    async def lost_with(self, name: str) -> str:
        """The node that went down with a lost peer, or "" where its node lives."""
        home = self._homes.get(name)
        if home is None or not self._joins:
            return ""
        nodes = await self._living()
        return "" if any(node.node_id == home.node_id for node in nodes) else home.node_id

    async def another_oracle(self, lost: OraclePeer) -> OraclePeer:
        """A fresh oracle that knows every worker."""
        import ray

        await self._check()
        ray.kill(self._oracle_actors[lost.name])
        peer = self._new_oracle()
        await self._first(peer)
        return peer

    async def _is_introduced(self, peer: RayWorkerPeer) -> bool:
        """Whether a worker has started with the right code and every oracle knows it.

        A node with other code is not used any more, nor is one on which several starts in a row have failed; a single
        one may have been killed like any other worker.
        """
        home = self._homes[peer.name]
        try:
            await self._ready(peer)
        except (PeerLost, InputError) as error:
            self._failed_starts[home.node_id] += 1
            self._dismiss(peer)
            self._notice(f"{peer.name} {COULD_NOT_START}: {error}")
            if isinstance(error, InputError) or self._failed_starts[home.node_id] >= STARTS_MAX:
                self._barred.add(home.node_id)
                self._notice(f"node {home.host} is not used any more")
            return False
        self._failed_starts[home.node_id] = 0
        for actor in list(self._oracle_actors.values()):  # one may be replaced meanwhile
            with suppress(PeerLost):  # a lost oracle is replaced by one that knows all workers
                await call(peer.name, actor.meet.remote(peer.name, peer.actor))
        return True

    async def _first(self, peer: RayWorkerPeer | RayOraclePeer) -> None:
        """See a peer started that the run cannot do without.

        Raises:
            InputError: its code cannot be imported, or is not that of this process.
            RunIncomplete: there is no process for it.
        """
        try:
            await self._ready(peer)
        except PeerLost as error:
            raise RunIncomplete(f"{peer.name} could not start: {error.why}") from error

    async def _ready(self, peer: RayWorkerPeer | RayOraclePeer) -> None:
        try:
            with anyio.fail_after(START_S):
                about = await peer.about()
        except TimeoutError as error:
            raise PeerLost(peer.name, f"Ray gave no process for it within {START_S:g} s") from error
        except PeerLost as error:
            problem = None if error.__cause__ is None else creation_problem(error.__cause__)
            if problem is None:
                raise
            host = self._homes[peer.name].host if peer.name in self._homes else "of the driver"
            raise InputError(f"node {host}: {peer.name} cannot be made there: {problem}") from error
        setup = self._oracle_setup if isinstance(peer, RayOraclePeer) else self._worker_setup(peer.name)
        here = code_of_oracle(setup) if isinstance(setup, OracleSetup) else code_of_worker(setup)
        check_imports(peer.name, about["host"], here, about["code"])

    async def watch(self) -> None:
        """Watch what nothing else would miss for long: Ray's own processes here, or the cluster that was joined."""
        while True:
            await anyio.sleep(WATCH_S)
            _check_cluster()
            if self._joins:
                await anyio.sleep(LOOK_S)
                await self._living()

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


def _actor(kind: type, node_id: str, groups: dict[str, int], *arguments: object) -> Any:  # noqa: ANN401 - Ray's handles have no type
    """An actor on a node and nowhere else: asked softly, Ray puts it anywhere while a node is new to it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote: Any = ray.remote
    options: dict[str, object] = {
        "num_cpus": 0,
        "max_restarts": 0,
        "max_task_retries": 0,
        "max_concurrency": CALLS_AT_ONCE,
        "concurrency_groups": groups,
        "scheduling_strategy": NodeAffinitySchedulingStrategy(node_id, soft=False),
    }
    return remote(**options)(kind).remote(*arguments)


async def _serve(peer: RayWorkerPeer | RayOraclePeer) -> None:
    """Stand by while a peer serves. Its loss shows where the driver talks to it, so it is not told from here."""
    try:
        await peer.actor.serve.remote()
    except Exception as error:
        if place_of(error) is None:
            raise
    peer.left = True


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


def _placed(group: BaseExceptionGroup[Exception]) -> Exception:
    """The error that says what became of the run, for errors that Ray itself raised."""
    leaves = list(_leaves(group))
    for error in leaves:
        place = place_of(error)
        if place is not None:
            return error_of(place, first_line(error))
    return leaves[0]


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
