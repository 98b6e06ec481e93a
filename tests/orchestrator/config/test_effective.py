from __future__ import annotations

import tomllib
from collections.abc import Callable

from orchestrator.config import LoadedConfig

Load = Callable[..., LoadedConfig]

TEXT = """run.drain_s = 1.5
[provider.options]
whole = 5.0
text = "$${A} ${A}"
[[arms]]
name = "a"
[[arms]]
name = "b"
options.list = [{k = "${A}"}, 2]
"""


def test_the_effective_file_reads_back_as_the_same_configuration(load: Load) -> None:
    """Reading it gives equal values and the same text again."""
    first = load(TEXT, environ={"A": "x"}, sets=["run.seed=9"])
    second = load(first.effective_toml, environ={"A": "x"})
    assert second.config == first.config
    assert second.effective_toml == first.effective_toml


def test_the_effective_file_is_complete_and_readable(load: Load) -> None:
    """Every key stands in it; whole seconds have no fraction, and options keep the type they were given."""
    body = tomllib.loads(load(TEXT, environ={"A": "x"}).effective_toml)
    assert {name: sorted(table) for name, table in body.items() if name == "oracle"} == {
        "oracle": ["actors", "read_attempts", "read_deadline_s"]
    }
    assert type(body["engine"]["deadline_s"]) is int
    assert body["run"]["drain_s"] == 1.5
    assert type(body["provider"]["options"]["whole"]) is float
    assert body["provider"]["options"]["text"] == "$${A} ${A}"


def test_a_changed_configuration_keeps_its_secrets(load: Load) -> None:
    """A copy with other values still writes names for variables, and drops those whose place has another text."""
    loaded = load('run.dir = "${A}"\n' + TEXT, environ={"A": "hunter2"})
    engine = loaded.config.engine.model_copy(update={"kind": "inline"})
    run = loaded.config.run.model_copy(update={"dir": "here"})
    changed = loaded.with_config(loaded.config.model_copy(update={"engine": engine, "run": run}))
    body = tomllib.loads(changed.effective_toml)
    assert body["engine"]["kind"] == "inline"
    assert body["run"]["dir"] == "here"
    assert "hunter2" not in changed.effective_toml
