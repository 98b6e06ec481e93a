from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.config import RunConfig, config_from_mapping
from orchestrator.config.model import Table
from spec.errors import ConfigErrors

DEFAULTS = {
    "format": 1,
    "run": {
        "kind": "effect",
        "name": "reference",
        "trials": 10,
        "seed": 0,
        "attempts": 3,
        "drain_s": 30.0,
        "dir": "runs",
    },
    "engine": {
        "kind": "ray",
        "address": "",
        "workers": 0,
        "in_flight": 256,
        "lease_max": 256,
        "deadline_s": 600.0,
    },
    "oracle": {"actors": 1, "read_attempts": 5, "read_deadline_s": 30.0},
    "provider": {"use": "mockmed", "pack": "anchor", "split": "dev", "tasks": [], "options": {}},
    "arms": [
        {"name": "a", "use": "screen_only", "isolation": "", "in_flight": 0, "deadline_s": 0.0, "options": {}},
    ],
    "limits": {
        "open_s": 60.0,
        "baseline_s": 30.0,
        "idle_s": 0.0,
        "close_s": 30.0,
        "stall_report_s": 60.0,
        "heartbeat_s": 2.0,
        "worker_failures_max": 3,
        "report_bytes_max": 1048576,
        "tail_bytes_max": 65536,
        "group_commit_ms": 5.0,
        "disk_free_min_bytes": 268435456,
    },
    "artifacts": {"url": ""},
}

Refuse = Callable[[str, Any], str]


@pytest.fixture
def refuse() -> Refuse:
    """The message with which one key is refused, beside an arm that is right."""

    def refused(key: str, value: Any) -> str:
        table, _, name = key.partition(".")
        body: dict[str, Any] = {"arms": [{"name": "a"}]}
        if table == "arms":
            body["arms"][0][name] = value
        else:
            body[table] = {name: value}
        with pytest.raises(ConfigErrors) as caught:
            config_from_mapping(body, ".", environ={})
        assert len(caught.value.errors) == 1, caught.value
        return str(caught.value.errors[0])

    return refused


def test_every_key_has_its_documented_default() -> None:
    """A file with nothing but one arm has all keys, and the documented values."""
    config = RunConfig.model_validate({"arms": [{"name": "a", "use": "screen_only"}]})
    assert config.model_dump(mode="json") == DEFAULTS


@pytest.mark.parametrize("table", ["isolation", "budget", "llm", "governor", "stop"])
def test_tables_of_other_versions_are_unknown(table: str) -> None:
    """A table that this version does nothing with is refused, not ignored."""
    with pytest.raises(ConfigErrors, match=f"{table}: unknown key"):
        config_from_mapping({"arms": [{"name": "a"}], table: {}}, ".", environ={})


def test_values_are_frozen() -> None:
    """Nothing of a configuration can be assigned to."""
    config = RunConfig.model_validate({"arms": [{"name": "a"}]})
    for table in (config, config.run, config.arms[0]):
        assert isinstance(table, Table)
        with pytest.raises(ValidationError):
            setattr(table, next(iter(type(table).model_fields)), 1)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("run.trials", True, "must be an integer, not true/false"),
        ("run.trials", "3", "must be an integer, not text"),
        ("artifacts.url", "/shared/artifacts", "is no URL"),
        ("artifacts.url", "s3://bucket/a b", "is no URL"),
        ("run.trials", 3.0, "must be an integer, not a number with a fraction"),
        ("run.trials", 0, "must be at least 1, not 0"),
        ("run.trials", 10**9 + 1, "must be at most 1000000000"),
        ("run.seed", 2**63, "must fit into 64 bits"),
        ("run.drain_s", float("nan"), "must be a finite number"),
        ("run.name", "../up", "may hold only letters"),
        ("run.name", "", "may hold only letters"),
        ("run.dir", "a\0b", "must not hold a NUL"),
        ("engine.deadline_s", 0, "must be greater than 0, not 0"),
        ("engine.kind", "Ray", "did you mean 'ray'?"),
        ("provider.tasks", "a", "must be a list, not text"),
        ("provider.tasks", [""], "must not be empty"),
        ("provider.options", [], "must be a table, not a list"),
        ("provider.use", "no name", 'must be a name or "module:attribute"'),
        ("arms.name", "Upper", "may hold only a-z"),
        ("arms.name", "a\n", "may hold only a-z"),
        ("arms.in_flight", -1, "must be at least 0"),
        ("arms.isolation", "vm", "is no isolation level"),
        ("limits.report_bytes_max", 2**40, "must be at most 8388608"),
    ],
)
def test_a_value_out_of_its_type_or_bounds_is_refused(refuse: Refuse, key: str, value: Any, reason: str) -> None:
    """Nothing is converted: another type, a number out of bounds or a text of another form is named."""
    assert reason in refuse(key, value)


@pytest.mark.parametrize("level", ["process", "user", "sandbox"])
def test_a_level_that_cannot_be_had_is_never_weakened(refuse: Refuse, level: str) -> None:
    """A stronger isolation than this version has is refused with that reason."""
    assert "cannot provide" in refuse("arms.isolation", level)


@pytest.mark.parametrize("kind", ["verdict", "step"])
def test_a_kind_of_another_version_names_those_that_exist(refuse: Refuse, kind: str) -> None:
    """A known word for a kind that is not here is told apart, and the kinds that are here are named."""
    assert "this version has: effect" in refuse("run.kind", kind)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("auto", "nobody could say where"),
        ("ray://head:10001", "Ray Client"),
        ("head", "is no address"),
        ("head:0", "is no address"),
        ("head:99999", "is no address"),
        ("he ad:6379", "is no address"),
    ],
)
def test_an_address_that_says_too_little_is_refused(refuse: Refuse, address: str, reason: str) -> None:
    """Only "", "job" and host:port say which cluster is meant."""
    assert reason in refuse("engine.address", address)


@pytest.mark.parametrize("address", ["", "job", "head:6379", "10.0.0.1:6379", "[::1]:6379"])
def test_an_address_that_names_a_cluster_is_taken(address: str) -> None:
    """Nothing, "job" and host:port are taken as they are."""
    config = RunConfig.model_validate({"engine": {"address": address}, "arms": [{"name": "a"}]})
    assert config.engine.address == address


def test_an_arm_has_its_own_deadline_or_the_engines() -> None:
    """0 stands for the engine's deadline."""
    arms = [{"name": "a"}, {"name": "b", "deadline_s": 2.5}]
    config = RunConfig.model_validate({"engine": {"deadline_s": 9}, "arms": arms})
    assert [config.arm_deadline_s(config.arm(name)) for name in ("a", "b")] == [9.0, 2.5]
    with pytest.raises(KeyError):
        config.arm("c")


def test_two_arms_cannot_share_a_name() -> None:
    """A name is refused the second time, also where the model is used without a file."""
    with pytest.raises(ValidationError, match="earlier arm"):
        RunConfig.model_validate({"arms": [{"name": "a"}, {"name": "a"}]})


def test_options_never_show_in_a_repr() -> None:
    """A traceback that prints a configuration prints no credential."""
    mapping = {"arms": [{"name": "a", "options": {"key": "${KEY}"}}]}
    loaded = config_from_mapping(mapping, ".", environ={"KEY": "hunter2"})
    assert loaded.config.arms[0].options == {"key": "hunter2"}
    assert "hunter2" not in repr(loaded)
    assert "hunter2" not in repr(loaded.config)
