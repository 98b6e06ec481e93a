"""Which node of a cluster gets how many workers: a rule over plain values.

Workers are spread evenly over the nodes by their cores. The head, which carries the cluster's own services, gets none
where there are other nodes, unless more workers are asked for than the others have cores. A node without cores was
told to do no work, so it gets workers only where no node has any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Node(NamedTuple):
    """A living node of a cluster.

    Attributes:
        node_id: Ray's own name of it.
        host: its address, for messages.
        cores: what it offers, in whole cores.
        is_head: whether it carries the cluster's own services.
    """

    node_id: str
    host: str
    cores: int
    is_head: bool


def uses_head(nodes: Sequence[Node], asked: int) -> bool:
    """Whether a run's workers may be on the head although there are other nodes.

    Args:
        nodes: those that live when the run begins.
        asked: how many workers the configuration asks for; 0: one a core.
    """
    return asked > sum(node.cores for node in nodes if not node.is_head)


def hosts_of(nodes: Sequence[Node], *, head_too: bool) -> list[Node]:
    """The nodes that may have workers.

    Args:
        nodes: those that live.
        head_too: whether the head is one of many.
    """
    working = [node for node in nodes if node.cores] or list(nodes)
    others = [node for node in working if not node.is_head]
    return working if head_too or not others else others


def workers_wanted(nodes: Sequence[Node], asked: int) -> int:
    """How many workers a run begins with."""
    return asked or sum(_room(node) for node in hosts_of(nodes, head_too=False))


def place(nodes: Sequence[Node], load: Mapping[str, int], *, head_too: bool, full: bool) -> Node | None:
    """Where the next worker goes: the node that has the fewest for its cores.

    Args:
        nodes: those that live.
        load: node id -> how many workers it has.
        head_too: whether the head is one of many.
        full: whether a node can be full: one worker a core.

    Returns:
        The node; None where there is none, or all are full.
    """
    able = [node for node in hosts_of(nodes, head_too=head_too) if not full or load.get(node.node_id, 0) < _room(node)]
    return min(able, key=lambda node: (load.get(node.node_id, 0) + 1) / _room(node), default=None)


def _room(node: Node) -> int:
    return max(1, node.cores)
