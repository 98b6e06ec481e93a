"""Which nodes of a Ray cluster live, looked at in a bounded time.

Ray itself takes some fifteen seconds to declare a node dead whose raylet was killed. So a node counts as living here if
Ray says so and its raylet also accepts a connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio
import anyio.to_thread

from orchestrator.engine.placement import Node
from spec.errors import RunIncomplete

ASK_S: Final = 10.0
CONNECT_S: Final = 1.5
HEAD_RESOURCE: Final = "node:__internal_head__"


async def living_nodes() -> list[Node]:
    """The nodes that live, in Ray's order.

    Raises:
        RunIncomplete: the cluster does not say within ten seconds.
    """
    import ray

    try:
        with anyio.fail_after(ASK_S):
            entries: list[Mapping[str, Any]] = await anyio.to_thread.run_sync(ray.nodes, abandon_on_cancel=True)
    except TimeoutError as error:
        raise RunIncomplete(f"the Ray cluster was lost: it does not list its nodes within {ASK_S:g} s") from error
    alive = [entry for entry in entries if entry["Alive"]]
    reached: set[str] = set()

    async def reach(entry: Mapping[str, Any]) -> None:
        if await _accepts(str(entry["NodeManagerAddress"]), int(entry["NodeManagerPort"])):
            reached.add(str(entry["NodeID"]))

    async with anyio.create_task_group() as tasks:
        for entry in alive:
            tasks.start_soon(reach, entry)
    return [node_of(entry) for entry in alive if entry["NodeID"] in reached]


def node_of(entry: Mapping[str, Any]) -> Node:
    """A node out of what Ray says of it."""
    resources: Mapping[str, float] = entry["Resources"]
    return Node(
        node_id=str(entry["NodeID"]),
        host=str(entry["NodeManagerAddress"]),
        cores=int(resources.get("CPU", 0)),
        is_head=HEAD_RESOURCE in resources,
    )


def own_node_id() -> str:
    """The node of this process."""
    import ray

    return str(ray.get_runtime_context().get_node_id())


async def _accepts(host: str, port: int) -> bool:
    with anyio.move_on_after(CONNECT_S):
        try:
            stream = await anyio.connect_tcp(host, port)
        except OSError:
            return False
        await stream.aclose()
        return True
    return False
