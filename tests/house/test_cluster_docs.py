"""What the document about clusters gives to copy is right, as far as a machine without a cluster can tell."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest
import yaml

from orchestrator.cli.app import run_program

SCHEMA = Path(__file__).parent / "kuberay_rayjob.schema.json"


@pytest.fixture(scope="module")
def manifest(root: Path) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((root / "docs" / "cluster" / "rayjob.yaml").read_text())
    return made


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = orjson.loads(SCHEMA.read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_manifest_fits_the_resource(manifest: dict[str, Any], validator: Any) -> None:
    """Every field of the RayJob is one that KubeRay knows, and of its type."""
    assert [error.message for error in validator.iter_errors(manifest)] == []


def first_worker(manifest: dict[str, Any]) -> Any:
    return manifest["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m["spec"].update(entryPoint="x"),
        lambda m: m["spec"].update(backoffLimit="2"),
        lambda m: first_worker(m).pop("groupName"),
        lambda m: first_worker(m).update(rayStartParams={"num-cpus": 4}),
        lambda m: m["spec"]["rayClusterSpec"].pop("headGroupSpec"),
    ],
    ids=["unknown", "type", "missing", "number", "head"],
)
def test_the_schema_refuses_what_is_wrong(
    manifest: dict[str, Any], validator: Any, spoil: Callable[[Any], object]
) -> None:
    """A misspelt field, a wrong type and a missing one are each found, so the test above says something."""
    spoiled = copy.deepcopy(manifest)
    spoil(spoiled)
    assert list(validator.iter_errors(spoiled)) != []


def test_the_versions_are_those_that_are_locked(manifest: dict[str, Any], root: Path) -> None:
    """The manifest and the document name the Ray that this version is tested with, and our own version."""
    cluster = manifest["spec"]["rayClusterSpec"]
    assert cluster["rayVersion"] == version("ray")
    assert f"ray[default]=={version('ray')}" in (root / "docs" / "cluster.md").read_text()
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        assert container["image"].endswith(f":{version('trial-orchestrator')}")


def test_the_heads_cores_are_kept_from_trials(manifest: dict[str, Any]) -> None:
    """The head does no work, and the run directory is on its volume."""
    head = manifest["spec"]["rayClusterSpec"]["headGroupSpec"]
    assert head["rayStartParams"]["num-cpus"] == "0"
    assert head["template"]["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/runs"


def test_the_commands_are_commands(manifest: dict[str, Any], root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's command names a configuration that can be planned with its settings; the same goes for any address."""
    monkeypatch.chdir(root)
    script = shlex.split(manifest["spec"]["entrypoint"])[2]
    words = shlex.split(script.partition("else python -m orchestrator ")[2].partition(";")[0])
    assert words[:2] == ["--config", "configs/big.toml"]
    settings = words[2:4]
    for setting in (settings, ["--set", "engine.address=10.0.0.1:6379"], []):
        assert run_program(["plan", "--config", "configs/big.toml", *setting]) == 0
    resume = shlex.split(script.partition("then python -m orchestrator ")[2].partition(";")[0])
    assert resume == ["resume", words[words.index("--run-dir") + 1]]
