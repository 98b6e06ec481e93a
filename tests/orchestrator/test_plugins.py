from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from orchestrator import plugins
from orchestrator.config import config_from_mapping, load_config
from orchestrator.kinds import EFFECT
from spec.errors import ConfigError, ConfigErrors

AGENT = "async def run(task, environment): ...\nNUMBER = 3\nclass Agents:\n    def first(task, environment): ...\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A user's folder; what was imported from it is forgotten afterwards."""
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def refusal(use: str, folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        plugins.resolve_arm(use, folder)
    return str(caught.value)


def test_names_are_found_among_the_entry_points(folder: Path) -> None:
    """What ships is listed as built in, and each listed arm resolves by its name."""
    arms = [entry.name for entry in plugins.list_arms() if entry.origin == "built in"]
    baselines = ["always_halt", "effect_verified", "retry_on_error", "screen_only"]
    assert arms == sorted([*baselines, "effect_full", "effect_rest", "screen"])
    assert all(callable(plugins.resolve_arm(name, folder)) for name in arms)
    providers = [entry.name for entry in plugins.list_providers() if entry.origin == "built in"]
    assert providers == ["declared", "mockmed", "records"]
    assert plugins.resolve_provider("mockmed", folder).__name__ == "MockMed"
    assert "snapshot" in [entry.name for entry in plugins.list_channels()]


def test_an_unknown_name_has_its_nearest(folder: Path) -> None:
    """Arms, providers and kinds each name the nearest of their own."""
    assert "did you mean 'screen_only'?" in refusal("screen_onyl", folder)
    for resolve, hint in (
        (lambda: plugins.resolve_provider("mokmed", folder), "mockmed"),
        (lambda: plugins.resolve_kind("efect", folder), "effect"),
    ):
        with pytest.raises(ConfigError, match=f"did you mean '{hint}'"):
            resolve()


def test_a_name_that_two_packages_bring_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's arm is chosen by chance; the same arm listed twice is one."""
    points = [EntryPoint("x", value, "orchestrator.arms") for value in ("a:b", "c:d")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    assert "several installed packages bring arms named 'x': unknown, unknown" in refusal("x", folder)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [points[0], points[0]])
    assert "there is no module 'a'" in refusal("x", folder)


def test_a_module_is_found_in_the_configurations_folder(folder: Path) -> None:
    """Functions and attributes of attributes are found; afterwards the path is as it was."""
    (folder / "agent_one.py").write_text("import helper_one\n" + AGENT)
    (folder / "helper_one.py").write_text("")
    before = list(sys.path)
    assert plugins.resolve_arm("agent_one:run", folder).__name__ == "run"
    assert plugins.resolve_arm("agent_one:Agents.first", folder).__name__ == "first"
    assert sys.path == before


def test_what_is_not_there_is_named_with_what_is(folder: Path) -> None:
    """A wrong module or attribute has its nearest; something that cannot be called is no arm."""
    (folder / "agent_two.py").write_text(AGENT)
    assert "there is no module 'agent_tow'" in refusal("agent_tow:run", folder)
    assert "did you mean 'agent_two'?" in refusal("agent_tow:run", folder)
    assert "agent_two.py has no 'rum' (did you mean 'run'?)" in refusal("agent_two:rum", folder)
    assert "cannot be called: it is a int" in refusal("agent_two:NUMBER", folder)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import os\ndef f():\n    raise ValueError('no\\nway')\nf()\n",
            "bad.py:3: importing bad failed: ValueError: no way",
        ),
        ("x = (\n", "bad.py:1: importing bad failed: SyntaxError: '(' was never closed"),
        ("\nimport no_such_thing\n", "bad.py:2: importing bad failed: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "bad.py:1: importing bad failed: SystemExit: 3"),
        ("import json\njson.loads('{')\n", "bad.py:2: importing bad failed: json.decoder.JSONDecodeError"),
    ],
)
def test_a_module_that_fails_is_told_in_one_line(folder: Path, source: str, reason: str) -> None:
    """The last line of the exception, with the place in the user's own code and no traceback."""
    (folder / "bad.py").write_text(source)
    message = refusal("bad:run", folder)
    assert reason in message
    assert "\n" not in message


def test_a_folder_that_hides_ours_or_is_hidden_is_named(folder: Path) -> None:
    """A user's package named like ours, or a module named like a loaded one, is told instead of a strange error."""
    (folder / "arms").mkdir()
    (folder / "arms" / "mine.py").write_text(AGENT)
    (folder / "models.py").write_text("class Net: ...\n")
    (folder / "json.py").write_text(AGENT)
    (folder / "uses.py").write_text("from models import Net\n")
    assert "own package 'arms'; rename it" in refusal("arms.mine:run", folder)
    assert "own package 'models'; rename it" in refusal("uses:run", folder)
    assert "is loaded already" in refusal("json:run", folder)


def test_a_kind_is_built_in_or_the_users_own(folder: Path) -> None:
    """A kind is a Kind; anything else under that name is refused."""
    assert plugins.resolve_kind("effect", folder) is EFFECT
    (folder / "my_kind.py").write_text(
        "from orchestrator.kinds.base import Kind\nMINE = Kind('mine', 'a:b', 'c:d', 'e:f')\nOTHER = 3\n"
    )
    assert plugins.resolve_kind("my_kind:MINE", folder).name == "mine"
    with pytest.raises(ConfigError, match=r"is no orchestrator\.kinds\.base\.Kind, but a int"):
        plugins.resolve_kind("my_kind:OTHER", folder)


def test_everything_that_cannot_be_resolved_is_told_at_once(folder: Path) -> None:
    """Each wrong name has its file, line and key."""
    path = folder / "run.toml"
    path.write_text(
        '[provider]\nuse = "mokmed"\n[[arms]]\nname = "a"\nuse = "screen_onyl"\n[[arms]]\nname = "nobody"\n'
    )
    with pytest.raises(ConfigErrors) as caught:
        plugins.resolve_all(load_config(path, environ={}))
    found = [(error.line, error.key) for error in caught.value.errors]
    assert found == [(2, "provider.use"), (5, "arms.a.use"), (6, "arms.nobody.use")]


def test_everything_that_a_configuration_names_is_resolved(folder: Path) -> None:
    """Kind, provider and the arms by their names, in order."""
    mapping = {"arms": [{"name": "b", "use": "screen_only"}, {"name": "always_halt"}]}
    found = plugins.resolve_all(config_from_mapping(mapping, folder, environ={}))
    assert found.kind is EFFECT
    assert list(found.arms) == ["b", "always_halt"]


def test_a_plugin_has_the_digest_of_its_source(folder: Path) -> None:
    """Functions, classes, instances and partials have their module's file; what has no file has no digest."""
    source = "class Agent:\n    def __call__(self, task, environment): ...\ndef run(task, environment): ...\n"
    (folder / "agent_three.py").write_text(source)
    run: Callable[..., object] = plugins.resolve_arm("agent_three:run", folder)
    agent = plugins.resolve_arm("agent_three:Agent", folder)
    expected = "sha256:" + hashlib.sha256(source.encode()).hexdigest()
    for plugin in (run, agent, agent(), functools.partial(run, 1)):
        assert plugins.code_digest(plugin) == expected
    assert plugins.code_digest(print) is None
    (folder / "agent_three.py").unlink()
    assert plugins.code_digest(run) is None


def test_a_factory_that_wants_the_folder_gets_it(tmp_path: Path) -> None:
    """A parameter named folder is filled; a factory without one is called as ever, one nobody can look at as well."""

    def wants(pack: str, split: str, options: Mapping[str, Any], folder: Path) -> object:
        return pack, split, options, folder

    def wants_not(pack: str, split: str, options: Mapping[str, Any]) -> object:
        return pack, split, options

    made = partial(plugins.call_factory, pack="p", split="dev", options={"a": 1}, folder=tmp_path)
    assert made(wants) == ("p", "dev", {"a": 1}, tmp_path)
    assert made(wants_not) == ("p", "dev", {"a": 1})
    assert [plugins.takes_folder(factory) for factory in (wants, wants_not, dict)] == [True, False, False]
