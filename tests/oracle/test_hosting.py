"""An oracle is built from plain fields, and finds its channels by their names."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import anyio
import pytest

from oracle import hosting
from oracle.base import ChannelContext, ReadFailed
from oracle.channels.failing import NoReading
from oracle.hosting import Credentials, OracleSetup, build_oracle, code_of
from oracle.retry import RetryPolicy
from oracle.service import OracleService
from providers.mockmed import MockMed
from spec.canonical import digest_bytes
from spec.clock import Clock
from spec.messages import OracleOrders, ReadBefore, Ready, Unread
from spec.reading import ReadPath, Tables
from spec.sources import SHIPPED_FOLDER


class Telegraph:
    """A channel that a package brings."""

    name = "telegraph"
    batches = False

    def __init__(self, context: ChannelContext) -> None:
        self.key = context.credentials["TELEGRAPH_KEY"]

    async def read(self, paths: Sequence[ReadPath]) -> Sequence[Tables | ReadFailed]:
        return [{"telegrams": [], self.key: []} for _ in paths]

    async def close(self) -> None:
        """Nothing is held."""


def anchor_setup() -> OracleSetup:
    provider = MockMed(pack="anchor", split="all", options={})
    tasks = {task.task_id: task for task in provider.tasks()}
    return OracleSetup(
        "oracle.effect:EffectOracle", {"tasks": tasks, "schema": provider.schema}, RetryPolicy(1, 1.0), 1.0
    )


async def fetch(worker: str, places: Sequence[int]) -> bytes:
    return b'{"%d":{"tables":{"encounters":[]}}}' % places[0]


async def answer_of(service: OracleService, path: ReadPath) -> Any:
    """What the oracle says to a baseline at a path."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(service.serve)
        service.post(OracleOrders(before=[ReadBefore(1, 1, "k", "mockmed::ok", {}, path)]))
        (event,) = await service.events()
        tasks.cancel_scope.cancel()
    return event


def test_what_it_is_built_from_survives_pickling() -> None:
    """The setup goes to an actor as it is."""
    setup = anchor_setup()
    assert pickle.loads(pickle.dumps(setup)) == setup


@pytest.mark.anyio
async def test_records_in_memory_are_read_through_the_given_fetch(clock: Clock) -> None:
    """Channel snapshot is built in and asks the worker that its path names."""
    service = build_oracle(anchor_setup(), fetch, clock)
    assert await answer_of(service, ReadPath("snapshot", True, {"worker": "w", "fixture": 3})) == Ready(1, 1)


@pytest.mark.anyio
async def test_other_channels_come_from_what_is_installed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel is found by its name among the entry points; a name that nobody brings is no channel."""
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "Telegraph", Telegraph)
    monkeypatch.setitem(sys.modules, "telegraphs", module)
    points = [EntryPoint("telegraph", "telegraphs:Telegraph", hosting.CHANNELS_GROUP)]
    monkeypatch.setattr(
        hosting, "entry_points", lambda *, group, name: [point for point in points if point.name == name]
    )
    setup = anchor_setup()._replace(credentials=Credentials({"TELEGRAPH_KEY": "morse"}))
    assert "morse" not in repr(setup)
    service = build_oracle(setup, fetch, clock)
    assert await answer_of(service, ReadPath("telegraph", False, {})) == Ready(1, 1)
    unknown = await answer_of(build_oracle(anchor_setup(), fetch, clock), ReadPath("telex", False, {}))
    assert unknown == Unread(1, 1, 0, "no channel is called 'telex'")
    points.append(EntryPoint("telegraph", "others:Telegraph", hosting.CHANNELS_GROUP))
    doubled = await answer_of(build_oracle(anchor_setup(), fetch, clock), ReadPath("telegraph", False, {}))
    assert "several installed packages bring it: others:Telegraph, telegraphs:Telegraph" in doubled.reason


@pytest.mark.anyio
async def test_a_side_may_come_from_a_users_folder(clock: Clock, tmp_path: Path) -> None:
    """It is found there first, is given the fields, and the search path is as before afterwards."""
    (tmp_path / "gold_side_of_a_user.py").write_text("class Side:\n    def __init__(self, gold): self.gold = gold\n")
    before = list(sys.path)
    setup = OracleSetup("gold_side_of_a_user:Side", {"gold": 7}, RetryPolicy(1, 1.0), 1.0, tmp_path)
    service: Any = build_oracle(setup, fetch, clock)
    assert service._side.gold == 7
    assert sys.path == before
    del sys.modules["gold_side_of_a_user"]


def test_an_oracle_says_what_it_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our packages that it consists of, and the module of a kind that a user brings, from where it was shipped to."""
    assert set(code_of(anchor_setup())) == {"models", "oracle", "spec"}
    shipped = tmp_path / SHIPPED_FOLDER
    shipped.mkdir()
    (shipped / "kind_for_sources.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = OracleSetup("kind_for_sources:A", {}, RetryPolicy(1, 1.0), 1.0, Path("/not/there"))
    assert code_of(made)["kind_for_sources"] == digest_bytes(b"A = 1\n")
    del sys.modules["kind_for_sources"]


def test_an_oracle_finds_its_credentials_on_its_node(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is sent, the node's own file has the values; without it there is no oracle."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    setup = anchor_setup()._replace(on_node=("DESK_KEY",))
    with pytest.raises(NoReading, match="No such file"):
        build_oracle(setup, fetch, clock)
    file = tmp_path / "trial-orchestrator" / "credentials.toml"
    file.parent.mkdir()
    file.write_text('DESK_KEY = "morse"\n')
    file.chmod(0o600)
    contexts: list[ChannelContext] = []
    monkeypatch.setattr(hosting, "open_channel", lambda name, context: contexts.append(context))
    service = build_oracle(setup, fetch, clock)
    service._channel("any")
    assert contexts[0].credentials == {"DESK_KEY": "morse"}
