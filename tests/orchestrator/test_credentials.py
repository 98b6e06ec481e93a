"""Read credentials are asked for before a run, are in nobody's environment during it, and in no file of it ever."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from oracle.hosting import NO_CREDENTIALS
from orchestrator.config import LoadedConfig, config_from_mapping
from orchestrator.credentials import Taken, check_credentials, taken_credentials
from orchestrator.engine.backends import oracle_setup
from orchestrator.preparation import check_provider, prepare
from orchestrator.session import run
from spec.errors import ConfigErrors

SECRET: Final = "correct-horse-battery"
DESK: Final = '''
"""A desk whose record lies where only the oracle's credential says."""

import os
import sqlite3
from pathlib import Path

from spec.contract import Effect, EffectKind, Param
from spec.environment import Screen
from spec.reading import ReadPath, RecordSchema
from spec.report import AgentReport
from spec.task import Category, OracleSpec, Task
from spec.trial import Payload

PLACE = Path(__file__).with_name("place")


class Button:
    tools = ()
    verifier = None

    def __init__(self, number):
        self.number = number

    async def attempt_intended_action(self):
        with sqlite3.connect(PLACE.read_text()) as base:
            base.execute("INSERT INTO tickets (number) VALUES (?)", [self.number])
        base.close()
        return Screen(saved=True, banner="saved")


class Fixture:
    def __init__(self, task, number):
        self.environment = Button(number)
        name = {"save": "DESK_URL", "lost": "DESK_LOST"}[task.title]
        self.read_path = ReadPath("sql", True, {"url_env": name})

    def seal(self):
        pass

    async def close(self):
        pass


class Desk:
    name, version = "secret-desk", "1"
    schema = RecordSchema("tickets")
    read_credentials = ("DESK_URL", "DESK_LOST")

    def __init__(self, pack, split, options):
        pass

    def tasks(self):
        effect = Effect(EffectKind.RECORD_WRITTEN, {"number": Param("number")})
        return [
            Task(f"desk::{name}", name, "Save {number}.", Category.CONTROL, (effect,), OracleSpec("sql"), True)
            for name in ("save", "lost")
        ]

    def payload(self, task, trial, run_seed):
        return Payload(seed=trial, params={"number": f"n{trial}"})

    async def open(self, task, payload):
        return Fixture(task, payload.params["number"])

    def manifest(self):
        return {"name": self.name}

    async def close(self):
        pass


async def spy(task, environment):
    """An arm that looks for what it is not given."""
    await environment.attempt_intended_action()
    found = sorted(name for name in os.environ if name.startswith("DESK"))
    return AgentReport(reported_success=True, message=f"found {found}")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration's folder, and a record in a place that is a secret."""
    place = tmp_path / SECRET
    place.mkdir()
    with closing(sqlite3.connect(place / "desk.db")) as base:
        base.execute("CREATE TABLE tickets (id INTEGER PRIMARY KEY, number TEXT)")
        base.commit()
    made = tmp_path / "config"
    made.mkdir()
    (made / "secret_desk.py").write_text(DESK)
    (made / "place").write_text(str(place / "desk.db"))
    monkeypatch.setenv("DESK_URL", f"sqlite:///{place}/desk.db")
    monkeypatch.setenv("DESK_LOST", f"sqlite:///{place}/lost.db")
    monkeypatch.delitem(sys.modules, "secret_desk", raising=False)
    return made


def configured(folder: Path, **engine: Any) -> LoadedConfig:
    document = {
        "format": 1,
        "run": {"name": "r", "trials": 2, "attempts": 1},
        "engine": {"kind": "inline", **engine},
        "oracle": {"read_attempts": 1},
        "provider": {"use": "secret_desk:Desk"},
        "arms": [{"name": "spy", "use": "secret_desk:spy"}],
    }
    return config_from_mapping(document, folder, environ={})


class Asking:
    def __init__(self, *names: Any) -> None:
        self.read_credentials = names


def refused(loaded: LoadedConfig, provider: object, environ: Mapping[str, str]) -> str:
    with pytest.raises(ConfigErrors) as caught:
        check_credentials(loaded, provider, environ)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_no_file_of_a_run_ever_has_a_credential(folder: Path, tmp_path: Path) -> None:
    """Readings succeed and fail, an arm looks for the names, and nothing in the run's directory shows a value."""
    before = {name: os.environ[name] for name in ("DESK_URL", "DESK_LOST")}
    for number in (1, 2):  # a second run of the same program finds them again
        run_dir = tmp_path / f"run-{number}"
        ended = run(configured(folder), run_dir=run_dir)
        assert (ended.summary["conservation"]["scored"], ended.summary["conservation"]["unreadable"]) == (2, 2)
        rows = [orjson.loads(line) for line in (run_dir / "episodes.jsonl").read_bytes().splitlines()]
        assert [row["oracle"]["before_reachable"] for row in rows] == [True, True]
        files = [path for path in run_dir.rglob("*") if path.is_file()]
        whole = b"".join(path.read_bytes() for path in files)
        assert len(files) > 5
        assert b"found []" in whole
        assert b"there is no SQLite file ***" in whole
        assert SECRET.encode() not in whole
        assert {name: os.environ[name] for name in before} == before
        with closing(sqlite3.connect((folder / "place").read_text())) as base:
            base.execute("DELETE FROM tickets")
            base.commit()


def test_a_missing_credential_stops_a_run_before_it_starts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each one is named with how to give it, at plan as at run, and no directory is made."""
    monkeypatch.delenv("DESK_LOST")
    with pytest.raises(ConfigErrors, match=r"variable DESK_LOST, which is not set \(export DESK_LOST="):
        check_provider(prepare(configured(folder)))
    with pytest.raises(ConfigErrors, match="DESK_LOST"):
        run(configured(folder), run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_nothing_that_is_printed_shows_a_value(folder: Path) -> None:
    """The setup of an oracle and what is taken for it have representations without credentials."""
    prepared = prepare(configured(folder))
    with taken_credentials(prepared.loaded, prepared.provider, dict(os.environ)) as taken:
        setup = oracle_setup(prepared, taken)
        assert SECRET in setup.credentials.values["DESK_URL"]
        assert SECRET not in repr(taken) + repr(setup) + str(setup) + repr(setup.credentials)


def test_they_come_back_whatever_happens(folder: Path) -> None:
    """A run that fails leaves the environment as it was; inside, the names are not there."""
    environ = {"A": SECRET, "B": "b"}
    loaded = configured(folder)

    def fail() -> None:
        with taken_credentials(loaded, Asking("A"), environ) as taken:
            assert environ == {"B": "b"}
            assert taken.sent.values == {"A": SECRET}
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert environ == {"A": SECRET, "B": "b"}


def test_who_asks_for_nothing_is_given_nothing(folder: Path) -> None:
    """Most providers need no credential."""
    environ = {"A": SECRET}
    with taken_credentials(configured(folder), object(), environ) as taken:
        assert (taken.on_node, taken.sent.values, environ) == ((), {}, {"A": SECRET})


@pytest.mark.parametrize("names", [("A B",), (5,), ("",), ("é",)])
def test_what_is_no_name_is_refused(folder: Path, names: tuple[Any, ...]) -> None:
    """A provider that asks for something else is told so."""
    assert "must be names of environment variables" in refused(configured(folder), Asking(*names), {})


def test_an_empty_variable_is_not_set(folder: Path) -> None:
    """An empty password is far more often a mistake than a password."""
    assert "A, which is not set" in refused(configured(folder), Asking("A"), {"A": ""})


def node_file(tmp_path: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    path = tmp_path / "trial-orchestrator" / "credentials.toml"
    path.parent.mkdir()
    path.write_text(text)
    path.chmod(mode)
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_on_a_cluster_of_others_nothing_is_sent(folder: Path, tmp_path: Path) -> None:
    """Only names go with the setup; the values stay in a private file of the oracle's node."""
    loaded = configured(folder, kind="ray", address="10.0.0.1:6379")
    environ = {**node_file(tmp_path, f'A = "{SECRET}"\nB = "b"\n'), "A": "in the environment"}
    with taken_credentials(loaded, Asking("A"), environ) as taken:
        assert taken == Taken(NO_CREDENTIALS, ("A",))
        assert "A" not in environ
    with taken_credentials(loaded, Asking("A"), environ, here=True) as taken:
        assert taken.sent.values == {"A": SECRET}


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        (f'A = "{SECRET}"\n', 0o644, "has mode 0644, but must have 0600"),
        (f'B = "{SECRET}"\n', 0o600, "does not have A"),
        (f"A = {SECRET}\n", 0o600, "is no TOML"),
        ("A = 5\n", 0o600, "does not have A"),
    ],
)
def test_a_nodes_file_that_does_not_serve_is_told(folder: Path, tmp_path: Path, text: str, mode: int, why: str) -> None:
    """What is wrong with it is said before the run, with the line that has to stand there, and no value."""
    loaded = configured(folder, kind="ray", address="10.0.0.1:6379")
    found = refused(loaded, Asking("A"), node_file(tmp_path, text, mode))
    assert why in found
    assert 'A = "..."' in found


def test_a_nodes_file_that_is_missing_is_told(folder: Path, tmp_path: Path) -> None:
    """A variable of this process does not stand in for it."""
    loaded = configured(folder, kind="ray", address="10.0.0.1:6379")
    found = refused(loaded, Asking("A"), {"XDG_CONFIG_HOME": str(tmp_path), "A": SECRET})
    assert f"{tmp_path}/trial-orchestrator/credentials.toml: No such file" in found


PROGRAM: Final = """
import json, os, subprocess, sys
from pathlib import Path
from orchestrator.config import config_from_mapping
from orchestrator.credentials import taken_credentials

class Asking:
    read_credentials = ("DESK_PASSWORD",)

def seen():
    child = subprocess.run(["env"], capture_output=True, text=True).stdout
    return [
        "DESK_PASSWORD" in os.environ,
        os.environ.get("DESK_PASSWORD", "-") in Path("/proc/self/environ").read_text(),
        "battery" in Path("/proc/self/environ").read_text(),
        "battery" in child,
    ]

loaded = config_from_mapping(
    {"format": 1, "run": {"name": "r"}, "engine": {"kind": "inline"}, "provider": {"use": "mockmed"},
     "arms": [{"name": "a", "use": "screen_only"}]}, ".", environ={})
answers = [seen()]
with taken_credentials(loaded, Asking(), os.environ):
    answers.append(seen())
answers.append(seen())
print(json.dumps(answers))
"""


def test_no_process_can_look_it_up_while_trials_run() -> None:
    """Neither a child nor whoever may read this process's first environment finds it; afterwards it is set again."""
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "DESK_PASSWORD": SECRET},
        capture_output=True,
        timeout=50,
        check=True,
    )
    before, during, after = orjson.loads(answer.stdout)
    assert before == [True, True, True, True]
    assert (during[0], during[2], during[3]) == (False, False, False)
    assert (after[0], after[3]) == (True, True)
