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

class Look(type):
    def __getattr__(cls, name):
        fail()

class Odd(metaclass=Look):
    __signature__ = property(fail)

    def __getattr__(self, name):
        fail()

    def __call__(self, task, environment):
        return None

if {place!r} == "look":
    Agent = Odd()

class Late(MockMed):
    def payload(self, task, trial, run_seed):
        return fail() if trial else super().payload(task, trial, run_seed)

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
    "look": "mockmed",
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


@pytest.mark.parametrize("error", ERRORS)
def test_a_later_payload_costs_its_own_trial(call: Callable[..., Any], tmp_path: Path, error: str) -> None:
    """Whatever a provider raises for one trial's payload, that trial is infrastructure, and the run goes on."""
    number = f"late_{ERRORS.index(error)}"
    (tmp_path / f"plugin_{number}.py").write_text(PLUGIN.format(place="Late", error=error))
    path = tmp_path / "c.toml"
    path.write_text(CONFIG.format(kind="effect", provider=f"plugin_{number}:Late", number=number))
    narrow = ["--set", "run.trials=2", "--set", "run.attempts=1", "--task", "*::ok", "--run-dir", tmp_path / "run"]
    said = call("run", "--config", path, "--json", *narrow)
    assert said.code == 0, said.err
    found = said.json["conservation"]
    assert (found["scored"], found["infrastructure"], found["owed"]) == (1, 1, 0)
