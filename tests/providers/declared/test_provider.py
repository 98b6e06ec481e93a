"""A declaration is a provider: its trials are fresh, its tools act, its record is where it says, nothing stays."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.kinds.effect.tasks import task_problems
from providers.base import Fixture, Provider
from providers.declared import Declared
from spec.environment import Screen, ToolError
from spec.errors import ConfigError, ConfigErrors, ProviderFault
from tests.providers.declared.conftest import Declare


def rows(fixture: Any) -> list[tuple[Any, ...]]:
    file = fixture.read_path.where["url"].removeprefix("sqlite:///")
    record = sqlite3.connect(file)
    found = record.execute("SELECT number, status, note FROM tickets ORDER BY id").fetchall()
    record.close()
    return found


def private_folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("topg-declared-*"))


def test_a_declaration_is_a_provider(written: dict[str, Any], declare: Declare) -> None:
    """It has all parts, its tasks can be judged, and its manifest holds no wiring."""
    provider = declare(written)
    assert isinstance(provider, Provider)
    assert [task.task_id for task in provider.tasks()] == ["close", "lost_note"]
    for task in provider.tasks():
        assert task_problems(task, provider.payload(task, 0, 0), provider.schema) == []
        assert task.oracle.trial_unique_payload
    assert "fault" not in str(provider.manifest())


def test_a_trial_acts_on_a_record_of_its_own(written: dict[str, Any], declare: Declare) -> None:
    """The scripted action changes the ticket of its trial and no other trial's record; closing leaves nothing."""
    provider, before = declare(written), private_folders()
    close, lost = provider.tasks()

    async def body() -> None:
        payload = provider.payload(close, 0, 0)
        first = await provider.open(close, payload)
        second = await provider.open(lost, provider.payload(lost, 0, 0))
        assert isinstance(first, Fixture)
        number, note = payload.params["number"], payload.params["note"]
        assert rows(first) == [(1, "open; really", None), (number, "open", None)]
        assert await first.environment.attempt_intended_action() == Screen(saved=True, banner="closed")
        assert rows(first)[1] == (number, "closed", note)
        assert rows(second)[1][1] == "open"
        answer = await second.environment.call("close_ticket", {"number": 5, "note": "x"})
        assert answer == {"status": 3, "body": {"message": "no such ticket"}}
        assert len(private_folders() - before) == 1
        first.seal()
        with pytest.raises(ToolError, match="sealed"):
            await first.environment.call("close_ticket", {"number": 5, "note": "x"})
        for fixture in (first, second):
            await fixture.close()
        assert not list((private_folders() - before).pop().glob("t*/"))
        await provider.close()

    anyio.run(body)
    assert private_folders() <= before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"number": "5", "note": "x"}, "number: '5' is not of type 'integer'"),
        ({"number": 5}, "'note' is a required"),
        ({"number": 5, "note": "half \ud800"}, "not JSON"),
        ({"number": 10**30, "note": "x"}, "not JSON"),
        ({"number": "x" * 1_000_000, "note": "x"}, r"^.{1,600}$"),
    ],
)
def test_a_call_that_does_not_fit_is_the_agents(
    written: dict[str, Any], declare: Declare, arguments: dict[str, Any], words: str
) -> None:
    """It is refused by the schema before anything runs."""
    provider = declare(written)

    async def body() -> None:
        task = provider.tasks()[0]
        fixture = await provider.open(task, provider.payload(task, 0, 0))
        with pytest.raises(ToolError, match=words):
            await fixture.environment.call("close_ticket", arguments)
        with pytest.raises(ToolError, match="no tool 'open_ticket'"):
            await fixture.environment.call("open_ticket", {})
        await fixture.close()
        await provider.close()

    anyio.run(body)


@pytest.mark.parametrize("where", ["schema.sql", "seed.sql"])
def test_a_script_that_fails_names_its_line(
    written: dict[str, Any], declare: Declare, where: str, tmp_path: Path
) -> None:
    """Whichever script it is; the failed opening leaves nothing."""
    before = private_folders()
    provider = declare(written, **{where.replace(".", "_"): "-- first\nSELECT 1;\n\nINSERT INTO missing VALUES (1);\n"})
    task = provider.tasks()[0]

    async def body() -> None:
        with pytest.raises(ConfigError, match=rf"{where}:4: the database refuses this statement: no such table"):
            await provider.open(task, provider.payload(task, 0, 0))
        await provider.close()

    anyio.run(body)
    assert private_folders() <= before


def test_a_tool_that_cannot_run_is_the_providers_fault(written: dict[str, Any], declare: Declare) -> None:
    """No agent is judged by it, and what was opened is closed."""
    before = private_folders()
    written["tools"]["command"][0]["argv"] = ["no-such-program"]
    provider = declare(written)
    task = provider.tasks()[0]

    async def body() -> None:
        with pytest.raises(ProviderFault, match="no program"):
            await provider.open(task, provider.payload(task, 0, 0))
        await provider.close()

    anyio.run(body)
    assert private_folders() <= before


def test_whatever_is_named_is_in_the_version(written: dict[str, Any], declare: Declare) -> None:
    """The declaration, a script and a program of its own each change it."""
    versions = {
        declare(written).version,
        declare(written | {"version": "2"}).version,
        declare(written, seed_sql="SELECT :number;").version,
        declare(written, desk_py="print(1)").version,
    }
    assert len(versions) == 4
    assert declare(written).version in versions


def test_options_and_splits_are_checked(written: dict[str, Any], declare: Declare, tmp_path: Path) -> None:
    """A missing file, an unknown option, another pack and an empty split are configuration errors with their key."""
    declare(written)
    for options, words in (({}, "needs the name"), ({"fil": "x"}, "did you mean 'file'"), ({"file": 3}, "needs")):
        with pytest.raises(ConfigError, match=words):
            Declared(options=options, folder=tmp_path)
    with pytest.raises(ConfigError, match=r"options.file: .*dusk.toml cannot be read.*did you mean 'desk.toml'"):
        Declared(options={"file": "dusk.toml"}, folder=tmp_path)
    with pytest.raises(ConfigError, match="no pack"):
        Declared(pack="other", options={"file": "desk.toml"}, folder=tmp_path)
    with pytest.raises(ConfigError, match="no task in the split 'test'"):
        declare(written, split="test")


def test_the_check_names_variables_that_are_not_there(
    written: dict[str, Any], declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With line and key; one that the oracle and a tool would share is refused too."""
    monkeypatch.delenv("DESK_TOKEN", raising=False)
    written["tools"]["command"][0]["pass_env"] = ["DESK_TOKEN"]
    with pytest.raises(ConfigErrors, match=r"desk.toml:\d+: tools.command\[0\].pass_env\[0\].*DESK_TOKEN is not set"):
        declare(written).check()
    written["record"]["read_credentials"] = ["DESK_TOKEN"]
    with pytest.raises(ConfigErrors, match="only the oracle gets"):
        declare(written).check()
    declare(written | {"record": written["record"] | {"read_credentials": []}})
    monkeypatch.setenv("DESK_TOKEN", "t")
    written["record"]["read_credentials"] = []
    declare(written).check()
