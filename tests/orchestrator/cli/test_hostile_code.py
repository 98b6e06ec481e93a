"""Code of others that raises where a plan is made: always exit 2 with one problem, whatever it raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
import sys
from providers.mockmed import MockMed

class Mute(Exception):
    def __str__(self):
        raise SystemExit(3)

class Base(BaseException):
    pass

ERROR = {error}

def fail(*arguments, **named):
    raise ERROR

class Agent:
    def __init__(self):
        if {place!r} == "agent":
            fail()

    async def __call__(self, task, environment):
        return None

class Desk(MockMed):
    pass

class Tasks(MockMed):
    tasks = fail

class Payloads(MockMed):
    payload = fail

class Manifest(MockMed):
    manifest = fail

if {place!r} == "attribute":
    del Agent

    def __getattr__(name):
        fail()

if {place!r} == "module":
    fail()
"""

CONFIG = """
format = 1
[run]
kind = "{kind}"
[engine]
kind = "inline"
[provider]
use = "{provider}"
[[arms]]
name = "a"
use = "plugin_{number}:Agent"
"""

ERRORS = ["SystemExit(0)", "Base('b')", "Mute()", "GeneratorExit()", "ValueError('half \\ud800')", "StopIteration()"]
PLACES = {
    "agent": "mockmed",
    "attribute": "mockmed",
    "module": "mockmed",
    "Tasks": "plugin_{number}:Tasks",
    "Payloads": "plugin_{number}:Payloads",
    "Manifest": "plugin_{number}:Manifest",
    "fail": "plugin_{number}:fail",
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("place", PLACES)
def test_whatever_a_plugin_raises_is_a_problem_of_the_configuration(
    call: Callable[..., Any], tmp_path: Path, place: str, error: str
) -> None:
    """Import, attribute, constructor, tasks, payload and manifest may raise anything: exit 2, one line of JSON."""
    number = f"{list(PLACES).index(place)}_{ERRORS.index(error)}"
    (tmp_path / f"plugin_{number}.py").write_text(PLUGIN.format(place=place, error=error))
    path = tmp_path / "c.toml"
    provider = PLACES[place].format(number=number)
    path.write_text(CONFIG.format(kind="effect", provider=provider, number=number))
    said = call("plan", "--config", path, "--json")
    assert said.code == 2, said.err
    assert said.json["error"]["message"]
    assert "Traceback" not in said.err
