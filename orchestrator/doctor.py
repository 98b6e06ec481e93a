"""Looks at the machine: what a run needs of it, each thing tried and not guessed."""

from __future__ import annotations

import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, MutableMapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from orchestrator.config import LimitsTable
from orchestrator.loopback import LOOPBACK, proxies_of

PYTHON_MIN: Final = (3, 11)
IMPORT_S: Final = 60.0
_SOCKET_S: Final = 5.0


class Check(NamedTuple):
    """One thing that was looked at.

    Attributes:
        name: what.
        ok: whether a run could use it.
        detail: what was found, and where it is not ok what to do.
    """

    name: str
    ok: bool
    detail: str


def examine(environ: MutableMapping[str, str], directory: Path, *, with_ray: bool) -> list[Check]:
    """Look at everything.

    Args:
        environ: the environment variables, of which only proxies matter.
        directory: where runs would be made.
        with_ray: start Ray once, instead of only importing it.
    """
    looks: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        ("python", _python),
        ("platform", lambda: platform_verdict(sys.platform)),
        ("sockets", lambda: sockets_verdict(tempfile.gettempdir())),
        ("disk", lambda: disk_verdict(shutil.disk_usage(directory).free)),
        ("loopback", _loopback),
        ("proxy", lambda: proxy_verdict(proxies_of(environ), lambda host: bool(urllib.request.proxy_bypass(host)))),
        ("ray", _ray_starts if with_ray else _ray_imports),
    ]
    return [_looked(name, look) for name, look in looks]


def _looked(name: str, look: Callable[[], tuple[bool, str]]) -> Check:
    try:
        ok, detail = look()
    except Exception as error:  # noqa: BLE001 - whatever a machine does wrong is the answer, not the end of the doctor
        ok, detail = False, f"{type(error).__name__}: {error}"
    return Check(name, ok, detail)


def _python() -> tuple[bool, str]:
    wanted = ".".join(map(str, PYTHON_MIN))
    return sys.version_info >= PYTHON_MIN, f"{platform.python_version()}, at least {wanted} is needed"


def platform_verdict(name: str) -> tuple[bool, str]:
    """What is promised on a platform.

    Args:
        name: as ``sys.platform`` spells it.
    """
    if name == "darwin":
        return True, 'macOS: use engine.kind = "inline" (or --inline); Ray on macOS is not tested'
    if name == "win32":
        return False, "Windows is not supported: runs are locked and synced the POSIX way; use WSL"
    return name == "linux", f"{platform.platform()}{'' if name == 'linux' else ' is not tested'}"


def sockets_verdict(temp_dir: str) -> tuple[bool, str]:
    """Whether Ray's sockets have room in a temporary directory, or else in /tmp."""
    from orchestrator.engine.ray_cluster import short_temp_root

    root = short_temp_root(temp_dir)
    with tempfile.TemporaryDirectory(prefix="to-", dir=root) as folder:
        place = Path(folder) / "socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(place))
    instead = "" if root == temp_dir else f", since {temp_dir} is too long for a socket's path"
    return True, f"Ray's sockets go below {root}{instead}"


def disk_verdict(free_bytes: int) -> tuple[bool, str]:
    """Whether a run would be started with so much room."""
    needed = LimitsTable().disk_free_min_bytes
    return free_bytes >= needed, f"{free_bytes >> 20} MiB free, at least {needed >> 20} MiB are needed"


def _loopback() -> tuple[bool, str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        address = listener.getsockname()
        with socket.create_connection(address, timeout=_SOCKET_S):
            return True, f"a port of 127.0.0.1 can be bound and reached ({address[1]})"


def proxy_verdict(proxies: Sequence[str], goes_past: Callable[[str], bool]) -> tuple[bool, str]:
    """Whether requests to this machine go past a proxy; every command sees to it before it starts.

    Args:
        proxies: the variables that name a proxy.
        goes_past: whether a request to a host would go past them.
    """
    if not proxies:
        return True, "no proxy is set"
    caught = [host for host in LOOPBACK if not goes_past(host)]
    if caught:
        return False, f"{', '.join(proxies)} would catch {', '.join(caught)}"
    return True, f"{', '.join(proxies)} set; {', '.join(LOOPBACK)} go past it"


def _ray_imports() -> tuple[bool, str]:
    command = [sys.executable, "-c", "import ray; print(ray.__version__)"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=IMPORT_S, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return False, f"cannot be imported: {last}; --inline does without it"
    return True, f"{done.stdout.strip()} can be imported; --ray starts it once"


def _ray_starts() -> tuple[bool, str]:

    from orchestrator.engine.ray_cluster import cluster

    with cluster("", notice=lambda text: None):
        return True, "started and stopped"
