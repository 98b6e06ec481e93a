"""A Ray cluster for the time of a run: started here and private to the run, or joined where somebody else runs one."""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from orchestrator.engine.leftovers import PREFIX, Run, claim, sweep
from orchestrator.engine.ray_errors import first_line
from orchestrator.engine.reaper import reaping
from orchestrator.engine.signals import signals_returned
from spec.errors import InputError

OBJECT_STORE_BYTES: Final = 80 * 1024 * 1024
TEMP_DIR_CHARS_MAX: Final = 45
RAYS_PART: Final = "r"
"""What Ray gets of the private directory: it opens its own directory to every user, but not the one above."""

DEATH_INFO_MS: Final = 20_000
"""How long Ray waits to learn why a call failed. It learns at once while its raylet lives; once that is dead, Ray ends
the whole process at the end of this wait, since it cannot store the error. So the wait must outlast our own end."""

JOB: Final = "job"
JOB_CONFIG: Final = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""The variable (its name is Ray's) in which a submitted job finds what it was submitted with."""

CONTROL_PROCESSES: Final = frozenset({"gcs_server", "raylet"})

_token = ""


Ship = Callable[[Path], list[Path]]
"""Copies what a cluster of others needs of our code into a directory, and says what to send."""


def _nothing(_: Path) -> list[Path]:
    return []


@contextmanager
def cluster(
    address: str, notice: Callable[[str], None], ship: Ship = _nothing, run: Run | None = None
) -> Iterator[None]:
    """A Ray cluster for the time of a run.

    Args:
        address: as configured.
        notice: told in one line what a person should know.
        ship: copies what a cluster of others needs of our code into a directory, and says what to send.
        run: what the cluster is for; None where it is no run.

    Raises:
        InputError: it can neither be started nor joined.
    """
    root = Path(short_temp_root(tempfile.gettempdir()))
    sweep(root, notice)
    if address:
        with _joined(address, notice, ship):
            yield
    else:
        if os.environ.get("RAY_ADDRESS"):
            notice("RAY_ADDRESS is set and ignored: engine.address is empty, so Ray starts here")
        with _own_cluster(root, run or Run("", Path())):
            yield


@contextmanager
def _own_cluster(root: Path, run: Run) -> Iterator[None]:
    """Start Ray on this machine, private to this run, and leave nothing of it."""
    temp_dir = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    claim(temp_dir, run)
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
                        _temp_dir=str(temp_dir / RAYS_PART),
                        _node_ip_address="127.0.0.1",
                        _system_config={"timeout_ms_task_wait_for_death_info": DEATH_INFO_MS},
                    )
            except Exception as error:
                message = f"Ray cannot be started here: {first_line(error)}; --inline does without it"
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
    return temp_dir if len(temp_dir) + len(f"/{PREFIX}12345678/{RAYS_PART}") <= TEMP_DIR_CHARS_MAX else "/tmp"  # noqa: S108 - mkdtemp makes it private


@contextmanager
def _joined(address: str, notice: Callable[[str], None], ship: Ship) -> Iterator[None]:
    """Join a cluster that somebody else runs, and send it our code."""
    if address == JOB and not os.environ.get("RAY_ADDRESS"):
        raise InputError(
            "engine.address is 'job', but this process is no Ray job: RAY_ADDRESS is not set. "
            'Start it by `ray job submit`, or give the cluster\'s "host:port"'
        )
    import ray
    from ray.exceptions import RayError

    try:
        with tempfile.TemporaryDirectory(prefix="ship-") as staging, signals_returned():
            sent = [] if _brings_modules() else [str(piece) for piece in ship(Path(staging))]
            context: Any = ray.init(
                address=None if address == JOB else address,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"py_modules": sent} if sent else None,
            )
    except (ConnectionError, ValueError, RuntimeError, RayError) as error:
        raise InputError(f"engine.address: cannot join {address!r}: {first_line(error)}") from error
    notice(f"joined the Ray cluster at {context.address_info.get('address', address)}")
    try:
        yield
    finally:
        ray.shutdown()


def _brings_modules() -> bool:
    """Whether this is a Ray job submitted with Python modules of its own; Ray takes them from one place only."""
    job = json.loads(os.environ.get(JOB_CONFIG, "{}"))
    return "py_modules" in (job.get("runtime_env") or {})


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


def ended_processes() -> list[str]:
    """Which of Ray's control processes that this process started have ended; none where it joined a cluster."""
    from ray._private import worker

    node: Any = worker._global_node
    if node is None:
        return []
    return [
        name
        for name, started in node.all_processes.items()
        if name in CONTROL_PROCESSES and any(info.process.poll() is not None for info in started)
    ]
