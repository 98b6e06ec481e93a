"""A worker is built from plain fields, with the arms that its configuration names."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.engine.hosting import ArmSetup, ProviderSetup, WorkerSetup, build_provider, build_worker, code_of
from orchestrator.engine.worker import WorkerLimits
from orchestrator.shadow import OUR_PACKAGES
from spec.canonical import digest_bytes
from spec.clock import Clock
from spec.errors import ConfigError
from spec.messages import Finished, WorkerOrders
from spec.sources import SHIPPED_FOLDER, package_digest
from spec.trial import Trial

AGENT = '''
class Repeats:
    """Reports what its options say."""

    def __init__(self, message="none"):
        self.message = message

    async def __call__(self, task, environment):
        return {"reported_success": False, "halted": True, "message": self.message}


def blocks(task, environment):
    return {"reported_success": True, "message": environment.attempt_intended_action().banner}
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with an agent whose module is forgotten afterwards."""
    import sys

    (tmp_path / "agent_for_hosting.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.setitem(sys.modules, "agent_for_hosting", None)
    del sys.modules["agent_for_hosting"]
    return tmp_path


def made_of(
    folder: Path, *arms: ArmSetup, options: Mapping[str, Any] | None = None, use: str = "mockmed"
) -> WorkerSetup:
    return WorkerSetup(
        worker_id="worker-0",
        provider=ProviderSetup(use, "anchor", "dev", options or {}, folder),
        arms=arms,
        side="orchestrator.kinds.effect.worker:EffectWorker",
        limits=WorkerLimits(open_s=60, close_s=30, idle_s=0, report_bytes_max=100_000, threads_max=4),
    )


async def play(made: WorkerSetup, arm: str, clock: Clock) -> Finished:
    """One trial of the task ``ok`` by an arm."""
    worker = build_worker(made, clock)
    trial = Trial(0, f"{arm}::mockmed::ok::t0", "mockmed::ok", arm, 0, 0, {"note": "n", "record_key": "k"}, 1)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.serve)
        worker.post(WorkerOrders(lease=[trial], permits={arm: 1}))
        await worker.events()
        worker.post(WorkerOrders(go=[0]))
        (finished,) = await worker.events()
        tasks.cancel_scope.cancel()
    assert isinstance(finished, Finished)
    return finished


def test_what_it_is_built_from_survives_pickling(folder: Path) -> None:
    """The setup goes to an actor as it is."""
    made = made_of(folder, ArmSetup("a", "screen_only", {}, 600.0))
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.anyio
async def test_each_arm_is_found_and_made_as_configured(folder: Path, clock: Clock) -> None:
    """Names, references, options, and plain functions all become arms under their configured names."""
    made = made_of(
        folder,
        ArmSetup("shipped", "screen_only", {}, 600.0),
        ArmSetup("own", "agent_for_hosting:Repeats", {"message": "hello"}, 600.0),
        ArmSetup("plain", "agent_for_hosting:blocks", {}, 600.0),
    )
    assert (await play(made, "shipped", clock)).report["reported_success"] is True
    assert (await play(made, "own", clock)).report["message"] == "hello"
    plain = await play(made, "plain", clock)
    assert (plain.fault, plain.report["reported_success"]) == (None, True)


@pytest.mark.anyio
async def test_what_cannot_be_found_or_made_is_a_configuration_error(folder: Path, clock: Clock) -> None:
    """Provider, arm and options are each refused by name before anything serves."""
    refused = {
        "nobody": made_of(folder, ArmSetup("a", "nobody", {}, 1.0)),
        "volume": made_of(folder, ArmSetup("a", "agent_for_hosting:Repeats", {"volume": 1}, 1.0)),
        "mokmed": made_of(folder, use="mokmed"),
        "colour": made_of(folder, options={"colour": "red"}),
    }
    for name, made in refused.items():
        with pytest.raises(ConfigError, match=name):
            build_worker(made, clock)


def test_a_provider_is_made_anew_each_time(folder: Path) -> None:
    """No two processes or calls share one."""
    made = made_of(folder).provider
    first, second = build_provider(made), build_provider(made)
    assert first is not second
    assert [task.task_id for task in first.tasks()] == [task.task_id for task in second.tasks()]


def test_a_worker_says_what_it_imports(folder: Path) -> None:
    """Our packages by their digests, a user's module by that of its file, and the file that was shipped counts."""
    made = made_of(
        folder, ArmSetup("mine", "agent_for_hosting:Repeats", {}, 60.0), ArmSetup("s", "screen_only", {}, 60.0)
    )
    code = code_of(made)
    assert set(code) == {"agent_for_hosting", *OUR_PACKAGES}
    assert code["agent_for_hosting"] == digest_bytes(AGENT.encode())
    assert code["spec"] == package_digest("spec")


@pytest.mark.anyio
async def test_a_shipped_folder_stands_in_for_the_drivers(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """On another machine the user's module is found in the copy, though the driver's path is not there."""
    elsewhere = tmp_path_factory.mktemp("node")
    (folder / "agent_for_hosting.py").rename(elsewhere / "agent_for_hosting.py")
    elsewhere.rename(elsewhere.with_name(SHIPPED_FOLDER))
    monkeypatch.syspath_prepend(str(elsewhere.parent))
    made = made_of(Path("/not/there"), ArmSetup("mine", "agent_for_hosting:Repeats", {}, 60.0))
    assert code_of(made)["agent_for_hosting"] == digest_bytes(AGENT.encode())
    assert build_worker(made, clock) is not None
