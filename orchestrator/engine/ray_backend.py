"""The backend on Ray: starts or joins a cluster, puts workers and oracles on it, and tidies up.

Every actor has ``max_restarts = 0`` and ``max_task_retries = 0``: Ray's own retries lose and duplicate rows without a
word. Oracles have no name, and only the driver holds their handles.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio

from oracle.hosting import OracleSetup
from orchestrator.engine.hosting import WorkerSetup
from orchestrator.engine.peers import OraclePeer, WorkerPeer
from orchestrator.engine.ray_errors import Place, place_of
from orchestrator.engine.reaper import reaping
from orchestrator.engine.signals import signals_returned
from spec.errors import InputError, OrchestratorError, PeerLost, RunIncomplete
from spec.messages import OracleEvent, OracleOrders, WorkerEvent, WorkerOrders
from spec.wire import decode_events
from spec.wire_orders import decode_oracle_events, encode_oracle_orders, encode_worker_orders

COALESCE_S: Final = 0.002
CALLS_AT_ONCE: Final = 16
SNAPSHOT_THREADS: Final = 2
OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
STOP_S: Final = 2.0
TEMP_DIR_CHARS_MAX: Final = 45

_token = ""

Body = Callable[[Sequence[WorkerPeer], Sequence[OraclePeer]], Awaitable[None]]


async def host_on_ray(
    *,
    address: str,
    workers: Sequence[WorkerSetup],
    oracle: OracleSetup,
    oracles: int,
    body: Body,
    notice: Callable[[str], None],
) -> None:
    """Run ``body`` with workers and oracles on Ray.

    Args:
        address: "" starts a cluster here; "host:port" joins one; "job" is the cluster of this Ray job.
        workers: one setup a worker.
        oracle: the setup of every oracle.
        oracles: how many oracles.
        body: called once all of them answer.
        notice: told in one line what a person should know.

    Raises:
        InputError: the cluster or an actor could not be set up.
        RunIncomplete: the cluster was lost.
        PeerLost: a worker or an oracle was lost.
    """
    with _cluster(address, notice):
        try:
            await _host(workers, oracle, oracles, body)
        except* OrchestratorError:
            raise
        except* Exception as group:
            raise _placed(group) from group


async def _host(workers: Sequence[WorkerSetup], oracle: OracleSetup, oracles: int, body: Body) -> None:
    from oracle.ray_oracle import RayOracle
    from orchestrator.engine.ray_worker import SNAPSHOTS, RayWorker

    worker_actors = {
        setup.worker_id: _actor(RayWorker, {SNAPSHOTS: SNAPSHOT_THREADS}, setup, COALESCE_S) for setup in workers
    }
    oracle_actors = {
        f"oracle-{number}": _actor(RayOracle, {}, oracle, worker_actors, COALESCE_S) for number in range(oracles)
    }
    actors = {**worker_actors, **oracle_actors}
    async with anyio.create_task_group() as tasks:
        for name, actor in actors.items():
            tasks.start_soon(_serve, name, actor)
        try:
            await body(
                [RayWorkerPeer(name, actor) for name, actor in worker_actors.items()],
                [RayOraclePeer(name, actor) for name, actor in oracle_actors.items()],
            )
        finally:
            with anyio.move_on_after(_stop_s(workers, oracle), shield=True):
                await _stop(list(actors.values()))
            for actor in actors.values():
                _kill(actor)
            tasks.cancel_scope.cancel()


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


async def _serve(name: str, actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
    """Stand by while a peer serves; its end before ours is its loss."""
    try:
        await actor.serve.remote()
    except Exception as error:
        raise _lost(name, error) from error


async def _stop(actors: Sequence[Any]) -> None:
    """Let every actor close what it holds; one that gives no sign of life is not waited for."""
    async with anyio.create_task_group() as tasks:
        for actor in actors:
            tasks.start_soon(_stop_one, actor)


def _stop_s(workers: Sequence[WorkerSetup], oracle: OracleSetup) -> float:
    """How long the peers may take to close: a worker its fixtures and its provider, an oracle its channels."""
    closing_s = max((2 * setup.limits.close_s for setup in workers), default=0.0)
    return STOP_S + max(closing_s, oracle.policy.read_deadline_s)


def _kill(actor: Any) -> None:  # noqa: ANN401 - Ray's handles have no type
    import ray

    ray.kill(actor)


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
        return PeerLost(name, _first_line(error))
    return _error_of(place, _first_line(error))


def _placed(group: BaseExceptionGroup[Exception]) -> Exception:
    """The error that says what became of the run, for errors that Ray itself raised."""
    leaves = list(_leaves(group))
    for error in leaves:
        place = place_of(error)
        if place is not None:
            return _error_of(place, _first_line(error))
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


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


@contextmanager
def _cluster(address: str, notice: Callable[[str], None]) -> Iterator[None]:
    """A Ray cluster for the time of a run."""
    if address:
        with _joined(address, notice):
            yield
    else:
        if os.environ.get("RAY_ADDRESS"):
            notice("RAY_ADDRESS is set and ignored: engine.address is empty, so Ray starts here")
        with _own_cluster():
            yield


@contextmanager
def _own_cluster() -> Iterator[None]:
    """Start Ray on this machine, private to this run, and leave nothing of it."""
    temp_dir = Path(tempfile.mkdtemp(prefix="to-", dir=short_temp_root(tempfile.gettempdir())))
    environment = {
        **_token_environment(temp_dir),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    try:
        with reaping(temp_dir), _environment(environment):
            import ray

            try:
                with signals_returned():
                    ray.init(
                        address="local",
                        include_dashboard=False,
                        log_to_driver=False,
                        logging_level=logging.ERROR,
                        object_store_memory=OBJECT_STORE_BYTES,
                        _temp_dir=str(temp_dir),
                        _node_ip_address="127.0.0.1",
                    )
            except Exception as error:
                message = f"Ray cannot be started here: {_first_line(error)}; --inline does without it"
                raise InputError(message) from error
            try:
                yield
            finally:
                ray.shutdown()
    finally:
        shutil.rmtree(temp_dir, ignore_errors=True)


def _token_environment(temp_dir: Path) -> dict[str, str]:
    """Guard the cluster with a token that only this process and its children can read.

    Ray keeps the token of its import for the whole process, so a second run in a process uses the same one again; where
    somebody else imported Ray before us, the cluster is left at Ray's own default.
    """
    global _token
    if not _token and "ray" in sys.modules:
        return {}
    _token = _token or secrets.token_hex(32)
    path = temp_dir / "token"
    path.touch(mode=0o600)
    path.write_text(_token)
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}


def short_temp_root(temp_dir: str) -> str:
    """A directory for Ray's sockets, whose paths have a hard limit of 107 bytes: this one, else /tmp.

    Args:
        temp_dir: the system's directory for temporary files.
    """
    return temp_dir if len(temp_dir) + len("/to-12345678") <= TEMP_DIR_CHARS_MAX else "/tmp"  # noqa: S108 - mkdtemp makes it private


@contextmanager
def _joined(address: str, notice: Callable[[str], None]) -> Iterator[None]:
    """Join a cluster that somebody else runs."""
    import ray

    try:
        with signals_returned():
            context: Any = ray.init(
                address=None if address == "job" else address, log_to_driver=False, logging_level=logging.ERROR
            )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"engine.address: cannot join {address!r}: {_first_line(error)}") from error
    notice(f"joined the Ray cluster at {context.address_info.get('address', address)}")
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables for a while; Ray reads them when it is imported and its processes inherit them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
