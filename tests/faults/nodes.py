"""A cluster of several nodes on this machine: it grows, and its nodes are killed.

``Nodes`` is what a test has of it. The cluster itself is served by ``python -m tests.faults.nodes FOLDER`` in a process
of its own, by orders on standard input: ``add CORES`` is answered with the node's number, ``kill NUMBER`` kills its
raylet. The first answer is the address; the end of the input ends the cluster, and a reaper sees to what is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, Self

from orchestrator.engine.reaper import reaping
from tests.faults.harness import ROOT

NODE_S: Final = 60.0
STORE_BYTES: Final = 80 << 20


class Nodes:
    """A cluster of others, which runs join.

    Attributes:
        address: where it is joined.
        environment: with the token that it wants.
        alive: the numbers of its nodes, the head aside.
    """

    def __enter__(self) -> Self:
        self._temp_dir = Path(tempfile.mkdtemp(prefix="nodes-", dir="/tmp"))
        token = self._temp_dir / "token"
        token.touch(mode=0o600)
        token.write_text(os.urandom(32).hex())
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONPATH": str(ROOT),
        }
        self.alive: list[int] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nodes", str(self._temp_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env={**os.environ, **self.environment},
        )
        self.address = self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=NODE_S)
        shutil.rmtree(self._temp_dir, ignore_errors=True)

    def add(self) -> None:
        """Add a node of one core."""
        self.alive.append(int(self._tell("add 1")))

    def kill(self, number: int) -> None:
        """Kill a node's raylet, and with it all of its processes."""
        self._tell(f"kill {number}")
        self.alive.remove(number)

    def _tell(self, order: str) -> str:
        assert self._process.stdin is not None
        print(order, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def serve(folder: Path) -> None:
    """Serve one cluster, which begins with a head of one core.

    Args:
        folder: where it keeps its files; short, since sockets lie there.
    """
    with reaping(folder):
        from ray import cluster_utils

        shared: dict[str, Any] = {"object_store_memory": STORE_BYTES, "temp_dir": str(folder / "r")}
        head = {"num_cpus": 1, "include_dashboard": False, **shared}
        cluster: Any = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        print(cluster.address, flush=True)
        nodes: list[Any] = []
        for line in sys.stdin:
            verb, number = line.split()
            if verb == "add":
                nodes.append(cluster.add_node(wait=False, num_cpus=int(number), **shared))
                print(len(nodes) - 1, flush=True)
            else:
                nodes[int(number)].kill_raylet(check_alive=False)
                print(number, flush=True)
        cluster.shutdown()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
