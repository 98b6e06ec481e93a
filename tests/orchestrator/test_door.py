"""The door for Python users: run, evaluate and load, with a loop running or not."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

import orchestrator
from arms.base import ArmTask
from arms.environment import Environment
from arms.sync import SyncEnvironment
from orchestrator.config import LoadedConfig, RunConfig, config_from_mapping
from orchestrator.door import Config
from spec.errors import ConfigErrors, InputError

ONE: Mapping[str, Any] = {
    "run": {"trials": 2},
    "engine": {"kind": "inline"},
    "provider": {"tasks": ["mockmed::partial", "mockmed::ok"]},
    "arms": [{"name": "screen_only"}],
}


async def believer(task: ArmTask, environment: Environment) -> Mapping[str, object]:
    """An arm that believes the banner."""
    return {"reported_success": (await environment.attempt_intended_action()).saved}


def test_run_is_a_function_whatever_was_imported_before() -> None:
    """No module of the package takes the place of a name of the door."""
    importlib.import_module("orchestrator.session")
    importlib.import_module("orchestrator.cli.app")
    assert all(callable(getattr(orchestrator, name)) for name in orchestrator.__all__)
    assert orchestrator.__all__ == sorted(orchestrator.__all__)
    assert {"run", "evaluate", "load", "Result", "RunConfig"} <= set(dir(orchestrator))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        _ = orchestrator.runn  # type: ignore[attr-defined]  # the mistake is what is tested


def test_a_mapping_runs(tmp_path: Path) -> None:
    """Tables as in the file give a run, with rows in plan order and the figures of the summary."""
    result = orchestrator.run(ONE, run_dir=tmp_path / "run")
    assert result.exit_code == 0
    assert result.conservation["scored"] == len(result.rows) == 4
    assert [row["task_id"] for row in result] == ["mockmed::ok"] * 2 + ["mockmed::partial"] * 2
    assert result.arms["screen_only"]["swer"]["rate"] == 0.5
    assert result.report.is_file()


def test_every_form_of_a_configuration_is_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a mapping, the frozen values and a loaded configuration give one digest."""
    monkeypatch.chdir(tmp_path)
    loaded: LoadedConfig = config_from_mapping(ONE, tmp_path, environ={})
    file = tmp_path / "run.toml"
    file.write_text(loaded.effective_toml)
    assert isinstance(loaded.config, RunConfig)
    forms: tuple[Config, ...] = (str(file), file, ONE, loaded.config, loaded)
    digests = {
        orchestrator.run(form, run_dir=tmp_path / f"run-{place}").summary["results_digest"]
        for place, form in enumerate(forms)
    }
    assert len(digests) == 1


def test_a_wrong_configuration_is_refused(tmp_path: Path) -> None:
    """As on the command line, with the key, and no directory is made."""
    with pytest.raises(ConfigErrors, match=r"run\.trails"):
        orchestrator.run({**ONE, "run": {"trails": 2}}, run_dir=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_notebooks_loop_may_be_running(tmp_path: Path) -> None:
    """Called from a coroutine, run gives its result as it does elsewhere."""

    async def cell() -> orchestrator.Result:
        return orchestrator.run(ONE, run_dir=tmp_path / "run")

    assert anyio.run(cell).conservation["scored"] == 4


def test_an_interrupted_cell_ends_its_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while the run has its own thread ends it; the run can be resumed."""

    async def endless(task: ArmTask, environment: Environment) -> Mapping[str, object]:
        await anyio.sleep_forever()
        return {}

    def interrupted(self: object, timeout: float | None = None) -> None:
        monkeypatch.undo()
        raise KeyboardInterrupt

    async def cell() -> orchestrator.Result:
        monkeypatch.setattr("threading.Thread.join", interrupted)
        return orchestrator.evaluate(endless, trials=1, run_dir=tmp_path / "run")

    with pytest.raises(KeyboardInterrupt):
        anyio.run(cell)
    assert orchestrator.load(tmp_path / "run").conservation["owed"] == 9


def test_a_function_is_evaluated(tmp_path: Path) -> None:
    """A function of a module, a closure, a blocking function, a class and a name all make an arm."""

    def blocking(task: ArmTask, environment: SyncEnvironment) -> Mapping[str, object]:
        return {"reported_success": environment.attempt_intended_action().saved}

    class Believer:
        def __init__(self, doubt: bool) -> None:
            self.doubt = doubt

        async def __call__(self, task: ArmTask, environment: Environment) -> Mapping[str, object]:
            screen = await environment.attempt_intended_action()
            return {"reported_success": screen.saved and not self.doubt}

    rates = {}
    arms: tuple[Callable[..., Any] | str, ...] = (believer, blocking, "screen_only", Believer(doubt=False))
    for place, arm in enumerate(arms):
        result = orchestrator.evaluate(arm, trials=1, run_dir=tmp_path / str(place))
        ((name, summary),) = result.arms.items()
        rates[name] = summary["swer"]["numerator"]
    assert rates == {"believer": 5, "blocking": 5, "screen_only": 5}
    doubting = orchestrator.evaluate(Believer, trials=1, options={"doubt": True}, run_dir=tmp_path / "doubting")
    assert doubting.arms["believer"]["swer"]["numerator"] == 0


def test_tables_narrow_an_evaluation(tmp_path: Path) -> None:
    """Further tables are those of the file, the provider's may be given whole."""
    result = orchestrator.evaluate(
        believer,
        {"use": "mockmed", "tasks": ["mockmed::ok"]},
        trials=3,
        run={"name": "mine"},
        run_dir=tmp_path / "run",
    )
    assert [row["trial"] for row in result] == [0, 1, 2]


def test_what_lives_here_cannot_run_on_ray(tmp_path: Path) -> None:
    """A closure on Ray is refused before anything starts, with what to do."""
    with pytest.raises(InputError, match="put it into a module"):
        orchestrator.evaluate(lambda task, environment: {}, engine={"kind": "ray"}, run_dir=tmp_path / "run")


def test_a_finished_run_is_loaded_as_rows_and_as_a_table(tmp_path: Path) -> None:
    """Load gives the summary, the rows and a relation over them."""
    orchestrator.run(ONE, run_dir=tmp_path / "run")
    loaded = orchestrator.load(tmp_path / "run")
    counted = loaded.table().aggregate("outcome, count(*) AS n", "outcome").order("outcome").fetchall()
    assert counted == [("silent_wrong_effect", 2), ("success", 2)]
    assert loaded.table().filter("agent.reported_success").fetchall() != []
    assert len(loaded.rows) == 4
    with pytest.raises(InputError, match="cannot be read"):
        orchestrator.load(tmp_path / "none")
