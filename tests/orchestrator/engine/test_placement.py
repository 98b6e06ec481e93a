"""Workers are spread over the nodes by their cores, and the head is spared where it can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.engine.placement import Node, hosts_of, place, uses_head, workers_wanted

HEAD = Node("head", "10.0.0.1", 2, is_head=True)
IDLE_HEAD = Node("head", "10.0.0.1", 0, is_head=True)


def others(*cores: int) -> list[Node]:
    return [Node(f"n{place}", f"10.0.1.{place}", count, is_head=False) for place, count in enumerate(cores)]


def placed(nodes: Sequence[Node], asked: int = 0) -> dict[str, int]:
    """Node id -> workers that a run begins with."""
    load: Counter[str] = Counter()
    head_too = uses_head(nodes, asked)
    for _ in range(workers_wanted(nodes, asked)):
        node = place(nodes, load, head_too=head_too, full=not asked)
        assert node is not None
        load[node.node_id] += 1
    return dict(load)


@pytest.mark.parametrize(
    ("nodes", "asked", "expected"),
    [
        ([HEAD], 0, {"head": 2}),
        ([HEAD], 5, {"head": 5}),
        ([HEAD, *others(2, 2)], 0, {"n0": 2, "n1": 2}),
        ([HEAD, *others(2, 2)], 3, {"n0": 2, "n1": 1}),
        ([HEAD, *others(2, 2)], 6, {"head": 2, "n0": 2, "n1": 2}),
        ([IDLE_HEAD, *others(2, 2)], 6, {"n0": 3, "n1": 3}),
        ([HEAD, *others(1, 4)], 0, {"n0": 1, "n1": 4}),
        ([HEAD, *others(0, 4)], 0, {"n1": 4}),
        ([IDLE_HEAD], 0, {"head": 1}),
        ([IDLE_HEAD, *others(0)], 0, {"n0": 1}),
        ([HEAD, *others(0)], 0, {"head": 2}),
    ],
)
def test_workers_go_where_they_should(nodes: list[Node], asked: int, expected: dict[str, int]) -> None:
    """One a core on all but the head; what is asked beyond that goes to the head too, if it has cores."""
    assert placed(nodes, asked) == expected


def test_a_full_cluster_has_no_place() -> None:
    """With one worker a core, a worker more has to wait until a node comes."""
    nodes = others(1, 2)
    assert place(nodes, {"n0": 1, "n1": 2}, head_too=False, full=True) is None
    assert place([*nodes, Node("new", "h", 1, is_head=False)], {"n0": 1, "n1": 2}, head_too=False, full=True) == Node(
        "new", "h", 1, is_head=False
    )
    assert place(nodes, {"n0": 1, "n1": 2}, head_too=False, full=False) is not None


def test_the_head_stands_in_for_lost_nodes() -> None:
    """When every other node is gone, the head is what there is."""
    assert hosts_of([HEAD], head_too=False) == [HEAD]
    assert place([], {}, head_too=True, full=True) is None


clusters = st.builds(
    lambda cores, head: [Node("head", "h", head, is_head=True), *others(*cores)],
    st.lists(st.integers(0, 8), max_size=8),
    st.integers(0, 8),
)


@given(nodes=clusters, asked=st.integers(0, 40))
def test_no_node_is_favoured(nodes: list[Node], asked: int) -> None:
    """Whatever the cluster, all workers have a place, and moving one from a node to another evens nothing out."""
    load = placed(nodes, asked)
    assert sum(load.values()) == workers_wanted(nodes, asked) > 0
    used = {node.node_id: node for node in hosts_of(nodes, head_too=uses_head(nodes, asked))}
    assert set(load) <= set(used)
    for name, count in load.items():
        fullest = count / max(1, used[name].cores)
        assert all((load.get(other, 0) + 1) / max(1, node.cores) >= fullest for other, node in used.items())


@given(nodes=clusters, asked=st.integers(0, 40))
def test_the_head_is_spared(nodes: list[Node], asked: int) -> None:
    """The head has workers only where nothing else works, or more are asked for than the others have cores."""
    elsewhere = sum(node.cores for node in nodes if not node.is_head)
    if "head" in placed(nodes, asked):
        assert elsewhere == 0 or asked > elsewhere
