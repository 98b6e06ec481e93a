"""Whatever leads nowhere in a declaration is found before a run, each with its line and the nearest name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spec.errors import ConfigErrors
from tests.providers.declared.conftest import Declare, task

Change = Callable[[dict[str, Any]], object]


def tool(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["tools"]["command"][0]
    return found


def first(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["tasks"][0]
    return found


@pytest.mark.parametrize(
    ("change", "key", "words"),
    [
        (lambda d: d.update(colour="red"), "colour", "unknown key"),
        (lambda d: d["record"].update(chanel="sql"), "record.chanel", "did you mean 'channel'"),
        (lambda d: d["record"].update(channel="sqll"), "record.channel", "no channel is named 'sqll'"),
        (lambda d: d["record"].update(channel="snapshot"), "record.channel", "memory of a Python provider"),
        (lambda d: d["record"]["where"].update(password_env="P"), "record.where.password_env", "read_credentials"),
        (lambda d: d["record"]["where"].update(url="{databse_url}"), "record.where.url", "did you mean 'database_url'"),
        (lambda d: d["reset"]["sql"].update(scripts=["sed.sql"]), "reset.sql.scripts[0]", "did you mean 'seed.sql'"),
        (lambda d: d["reset"]["sql"].update(dsn_env="X"), "reset.sql.dsn_env", "SQLite has none"),
        (lambda d: d["reset"]["sql"].update(database="mysql"), "reset.sql.database", "'sqlite' or 'postgres'"),
        (lambda d: tool(d).update(argv=["{python}", "{note}"]), "tools.command[0].argv[1]", "go into env"),
        (lambda d: tool(d)["env"].update(X="{nte}"), "tools.command[0].env.X", "did you mean 'note'"),
        (lambda d: tool(d)["env"].update(X="{"), "tools.command[0].env.X", "no template"),
        (lambda d: tool(d).update(required=["nubmer"]), "tools.command[0].required", "did you mean 'number'"),
        (
            lambda d: tool(d)["parameters"].update(number={"type": "int"}),
            "tools.command[0].parameters.number",
            "Schema",
        ),
        (lambda d: tool(d).update(deadline_s=0.0), "tools.command[0].deadline_s", "greater than 0"),
        (lambda d: tool(d).update(deadline_s="5"), "tools.command[0].deadline_s", "must be a number, not text"),
        (lambda d: d["action"].update(tool="close_tiket"), "action.tool", "did you mean 'close_ticket'"),
        (lambda d: d["action"]["arguments"].update(nmber=1), "action.arguments.nmber", "did you mean 'number'"),
        (lambda d: d["action"]["arguments"].pop("note"), "action.arguments", "needs 'note'"),
        (lambda d: d["action"]["banner"].update(saved="("), "action.banner.saved", "no regular expression"),
        (lambda d: d["params"].update(folder=1), "params.folder", "already what the reset makes"),
        (lambda d: d["params"].update(number={"int": [9, 1]}), "params.number", "smaller end"),
        (lambda d: first(d).update(id="lost_note"), "tasks[0].id", "several tasks"),
        (lambda d: first(d).update(goal="Close {numbr}"), "tasks[0].goal", "did you mean 'number'"),
        (lambda d: first(d)["wiring"].update(note="x"), "tasks[0].wiring.note", "which the agent is told"),
        (lambda d: first(d)["contract"][0].update(value="{stat}"), "tasks[0].contract[0].value", "'stat'"),
        (
            lambda d: first(d)["contract"][0].update(value="no. {number}"),
            "tasks[0].contract[0].value",
            "whole parameter",
        ),
        (lambda d: first(d)["contract"][0].update(kind="written"), "tasks[0].contract[0].kind", "'record_written'"),
        (lambda d: first(d).update(category="C9"), "tasks[0].category", "must be"),
        (lambda d: first(d).pop("goal"), "tasks[0].goal", "is missing"),
        (lambda d: d["tasks"].append(task("bare", wiring={})), "tools.command[0].env.FAULT", "nothing makes {fault}"),
    ],
)
def test_every_slip_is_told_where_it_stands(
    written: dict[str, Any], declare: Declare, change: Change, key: str, words: str
) -> None:
    """By file, line, key, reason and hint."""
    change(written)
    with pytest.raises(ConfigErrors) as caught:
        declare(written)
    found = {error.key: error for error in caught.value.errors}
    assert key in found, str(caught.value)
    assert words in str(found[key])
    assert found[key].line
    assert found[key].file.endswith("desk.toml")


def test_no_agent_chooses_the_server(written: dict[str, Any], declare: Declare) -> None:
    """An address that begins with an argument of the call is refused."""
    endpoint = {"name": "go", "description": "Go.", "url": "{to}/x", "parameters": {"to": {"type": "string"}}}
    written["tools"]["http"] = [endpoint]
    with pytest.raises(ConfigErrors, match=r"tools.http\[0\].url: begins with an argument"):
        declare(written)


def test_all_problems_are_told_at_once(written: dict[str, Any], declare: Declare) -> None:
    """In the order of the file."""
    written["record"]["where"]["url"] = "{x}"
    written["action"]["tool"] = "y"
    written["tasks"][0]["goal"] = "{z}"
    with pytest.raises(ConfigErrors) as caught:
        declare(written)
    errors = caught.value.errors
    assert {error.key for error in errors} == {"action.tool", "record.where.url", "tasks[0].goal"}
    assert [error.line for error in errors] == sorted(error.line or 0 for error in errors)


def test_a_parameter_of_a_script_that_nothing_fills_is_told_by_its_line(
    written: dict[str, Any], declare: Declare
) -> None:
    """In the script, not in the declaration."""
    with pytest.raises(ConfigErrors, match=r"seed.sql:2: nothing gives :numbr a value \(did you mean 'number'"):
        declare(written, seed_sql="-- a\nINSERT INTO tickets (number) VALUES (:numbr);")
    with pytest.raises(ConfigErrors, match=r"schema.sql:1: nothing gives :number a value"):
        declare(written, schema_sql="SELECT :number;")


@pytest.mark.parametrize(("text", "words"), [("a = ", "is not TOML"), ("name = 1", "must be text"), ("", "is missing")])
def test_what_is_no_declaration_is_refused(declare: Declare, text: str, words: str) -> None:
    """Broken TOML, a wrong type, an empty file."""
    with pytest.raises(ConfigErrors, match=words):
        declare(text)
