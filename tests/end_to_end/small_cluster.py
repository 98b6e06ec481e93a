"""A Ray cluster of several nodes on this machine, for tests: a program that is told what to do on its standard input.

``add CORES`` adds a node, ``spare ID`` kills the raylet of one whose id begins otherwise; the answer is the id of the
node that came or went. The first answer is the
cluster's address; the end of the input ends the cluster. It is guarded by the token of the environment, and a reaper
stands by in case that this program is killed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from orchestrator.engine.reaper import reaping

STORE_BYTES: Final = 80 * 1024 * 1024


def main(temp_dir: Path) -> None:
    """Serve one cluster, which begins with a head of one core.

    Args:
        temp_dir: where it keeps its files; short, since sockets lie there.
    """
    with reaping(temp_dir):
        from ray import cluster_utils

        shared: dict[str, Any] = {"object_store_memory": STORE_BYTES, "temp_dir": str(temp_dir / "r")}
        cluster: Any = cluster_utils.Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **shared}
        )
        print(cluster.address, flush=True)
        nodes: list[Any] = []
        for line in sys.stdin:
            verb, word = line.split()
            if verb == "add":
                nodes.append(cluster.add_node(wait=False, num_cpus=int(word), **shared))
                print(nodes[-1].node_id, flush=True)
            else:
                victim = next(node for node in nodes if not node.node_id.startswith(word))
                victim.kill_raylet(check_alive=False)
                print(victim.node_id, flush=True)
        cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
