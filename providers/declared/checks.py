"""What is wrong with a declaration as a whole: names that lead nowhere, files that are not there, tools that clash."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from providers.declared.contracts import term_problems
from providers.declared.model import Action, CommandTool, Declaration, HttpTool, TaskTable
from providers.declared.names import HERE_NAMES, made_names, trial_names
from providers.declared.reading import Problem
from providers.declared.templates import names_in
from spec.canonical import Json
from spec.environment import Tool
from spec.text import clean, nearest
from spec.toml_lines import Place


def declaration_problems(declaration: Declaration, home: Path) -> list[Problem]:
    """Everything that concerns more than one key; empty where the declaration can be run.

    Args:
        declaration: the values, each right by itself.
        home: the folder in which the declaration lies.
    """
    return [
        *_file_problems(declaration, home),
        *_record_problems(declaration),
        *_name_problems(declaration),
        *_place_problems(declaration),
        *_tool_problems(declaration),
        *_task_problems(declaration),
    ]


def _file_problems(declaration: Declaration, home: Path) -> Iterator[Problem]:
    files: list[tuple[Place, str]] = []
    if (sql := declaration.reset.sql) is not None:
        for key, names in (("template", sql.template), ("scripts", sql.scripts)):
            files += [(("reset", "sql", key, place), name) for place, name in enumerate(names)]
        if sql.dsn_env is not None and sql.database != "postgres":
            yield Problem(("reset", "sql", "dsn_env"), "names a server, and SQLite has none")
        elif sql.dsn_env is not None and sql.oracle_role is None:
            hint = "name a role that may log in and only reads, and give its password by record.where.password_env"
            yield Problem(("reset", "sql", "dsn_env"), "needs oracle_role beside it", hint)
    if (openapi := declaration.tools.openapi) is not None:
        files.append((("tools", "openapi", "file"), openapi.file))
    for place, name in files:
        path = home / name
        if not path.is_file():
            beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
            yield Problem(place, f"there is no file {path}", nearest(path.name, sorted(beside)[:8]))


def _record_problems(declaration: Declaration) -> Iterator[Problem]:
    record = declaration.record
    known = sorted({point.name for point in entry_points(group="orchestrator.channels")})
    if record.channel == "snapshot":
        yield Problem(("record", "channel"), "reads the memory of a Python provider, which a declaration has not")
    elif known and record.channel not in known:
        message = f"no channel is named {record.channel!r}"
        yield Problem(("record", "channel"), message, nearest(record.channel, known))
    for key, value in record.where.items():
        if key.endswith("_env") and isinstance(value, str) and value not in record.read_credentials:
            hint = f'add it: read_credentials = ["{value}"]'
            message = f"the oracle gets {value!r} only where record.read_credentials lists it"
            yield Problem(("record", "where", key), message, hint)


def _name_problems(declaration: Declaration) -> Iterator[Problem]:
    """A name stands for one thing in a trial."""
    made = {*HERE_NAMES, *made_names(declaration.reset)}
    for task_place, task in _with_places(declaration.tasks):
        places = [
            *(((*task_place, "params", name), name) for name in task.params),
            *(((*task_place, "wiring", name), name) for name in task.wiring if name not in task.params),
        ]
        for place, name in places:
            if name in made:
                yield Problem(place, f"{{{name}}} is already what the reset makes", "take another name")
        for name in task.wiring:
            if name in task.params or name in declaration.params:
                yield Problem((*task_place, "wiring", name), "is a parameter too, which the agent is told")
    for kind, names in (("params", declaration.params), ("wiring", declaration.wiring)):
        for name in names:
            if name in made:
                yield Problem((kind, name), f"{{{name}}} is already what the reset makes", "take another name")
    for name in declaration.wiring:
        if name in declaration.params:
            yield Problem(("wiring", name), "is a parameter too, which the agent is told")


def _place_problems(declaration: Declaration) -> Iterator[Problem]:
    """Every ``{name}`` has a value in every trial, and programs get values by their environment alone."""
    reset = declaration.reset
    made, every = set(HERE_NAMES), _common_names(declaration)
    if reset.sql is not None:
        made |= set(made_names(reset.model_copy(update={"command": None, "http": []})))
    if (command := reset.command) is not None:
        yield from _unknown(command.argv, ("reset", "command", "argv"), made, here_only=True)
        yield from _unknown(command.env, ("reset", "command", "env"), made | every)
        made |= set(command.keep)
    for place, call in enumerate(reset.http):
        for key, value in (("url", call.url), ("json", call.json_body), ("headers", call.headers)):
            yield from _unknown(value, ("reset", "http", place, key), made | every)
        made |= set(call.keep)
    yield from _unknown(declaration.record.where, ("record", "where"), made | every)
    yield from _tool_place_problems(declaration, made, every | made)


def _tool_place_problems(declaration: Declaration, made: set[str], every: set[str]) -> Iterator[Problem]:
    tools = declaration.tools
    for place, tool in enumerate(tools.http):
        at: Place = ("tools", "http", place)
        yield from _unknown(tool.url, (*at, "url"), every | set(tool.parameters))
        if any(tool.url.startswith(f"{{{name}}}") for name in tool.parameters):
            message = "begins with an argument of the call, so an agent could choose the server"
            yield Problem((*at, "url"), message, "begin with an address, or with a value that the reset made")
        yield from _unknown(tool.headers, (*at, "headers"), every)
    for place, program in enumerate(tools.command):
        yield from _unknown(program.argv, ("tools", "command", place, "argv"), made, here_only=True)
        yield from _unknown(program.env, ("tools", "command", place, "env"), every)
    if tools.openapi is not None:
        yield from _unknown(tools.openapi.url, ("tools", "openapi", "url"), every)
        yield from _unknown(tools.openapi.headers, ("tools", "openapi", "headers"), every)
    if tools.mcp is not None:
        yield from _unknown(tools.mcp.argv or [], ("tools", "mcp", "argv"), made, here_only=True)
        yield from _unknown(tools.mcp.env, ("tools", "mcp", "env"), every)
        yield from _unknown(tools.mcp.url or "", ("tools", "mcp", "url"), every)
        yield from _unknown(tools.mcp.headers, ("tools", "mcp", "headers"), every)


def _unknown(value: Json, place: Place, known: set[str], *, here_only: bool = False) -> Iterator[Problem]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _unknown(item, (*place, key), known, here_only=here_only)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for position, item in enumerate(value):
            yield from _unknown(item, (*place, position), known, here_only=here_only)
    else:
        for name in names_in(value):
            if name not in known:
                message = f"nothing makes {{{name}}} before this is used"
                hint = nearest(name, sorted(known))
                if here_only:
                    message += " in a command line"
                    hint = f"values of a trial go into env; {hint}"
                yield Problem(place, message, hint)


def _tool_problems(declaration: Declaration) -> Iterator[Problem]:
    tools = declaration.tools
    listed: list[tuple[Place, HttpTool | CommandTool]] = [
        *((("tools", "http", place), tool) for place, tool in enumerate(tools.http)),
        *((("tools", "command", place), program) for place, program in enumerate(tools.command)),
    ]
    counts = Counter(tool.name for _, tool in listed)
    for place, tool in listed:
        if counts[tool.name] > 1:
            yield Problem((*place, "name"), f"{tool.name!r} is the name of several tools")
        for name in tool.required or ():
            if name not in tool.parameters:
                yield Problem((*place, "required"), f"{name!r} is no parameter", nearest(name, list(tool.parameters)))
        if isinstance(tool, HttpTool):
            for name in tool.query:
                if name not in tool.parameters:
                    yield Problem((*place, "query"), f"{name!r} is no parameter", nearest(name, list(tool.parameters)))
        yield from _schema_problems(tool, place)
    if tools.mcp is not None and (tools.mcp.argv is None) is (tools.mcp.url is None):
        yield Problem(("tools", "mcp"), "needs either argv, a server to start, or url, one that runs")


def _schema_problems(tool: HttpTool | CommandTool, place: Place) -> Iterator[Problem]:
    from jsonschema import Draft202012Validator, SchemaError

    for name, schema in tool.parameters.items():
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as error:
            yield Problem((*place, "parameters", name), f"is no JSON Schema: {clean(error.message)}")


def _task_problems(declaration: Declaration) -> Iterator[Problem]:
    counts = Counter(task.id for task in declaration.tasks)
    if declaration.action is not None:
        yield from _action_problems(declaration, declaration.action, ("action",), _common_names(declaration))
    for place, task in _with_places(declaration.tasks):
        if counts[task.id] > 1:
            yield Problem((*place, "id"), f"{task.id!r} is the id of several tasks")
        params = [*declaration.params, *(name for name in task.params if name not in declaration.params)]
        for name in names_in(task.goal):
            if name not in params:
                hint = nearest(name, params)
                yield Problem((*place, "goal"), f"names {name!r}, which is no parameter of the task", hint)
        for position, effect in enumerate(task.contract):
            yield from term_problems(effect, (*place, "contract", position), params)
        if task.action is not None:
            names = set(trial_names(declaration, task))
            yield from _action_problems(declaration, task.action, (*place, "action"), names)


def _action_problems(declaration: Declaration, action: Action, place: Place, names: set[str]) -> Iterator[Problem]:
    tools = declaration.tools
    listed = {tool.name: tool for tool in (*tools.http, *tools.command)}
    tool = listed.get(action.tool)
    if tool is None:
        if tools.openapi is None and tools.mcp is None:
            hint = nearest(action.tool, list(listed))
            yield Problem((*place, "tool"), f"there is no tool {action.tool!r}", hint)
    else:
        for name in action.arguments:
            if name not in tool.parameters:
                hint = nearest(name, list(tool.parameters))
                yield Problem((*place, "arguments", name), f"{action.tool} has no parameter of that name", hint)
        for name in tool.parameters if tool.required is None else tool.required:
            if name not in action.arguments:
                yield Problem((*place, "arguments"), f"{action.tool} needs {name!r}")
    known = {*HERE_NAMES, *made_names(declaration.reset), *names}
    yield from _unknown(action.arguments, (*place, "arguments"), known)
    if action.banner.saved is not None:
        try:
            re.compile(action.banner.saved)
        except re.error as error:
            yield Problem((*place, "banner", "saved"), f"is no regular expression: {error}")


def operation_problems(declaration: Declaration, tools: Sequence[Tool]) -> list[Problem]:
    """What concerns the operations of an OpenAPI file: names that clash, and actions that call what is not there."""
    if declaration.tools.openapi is None:
        return []
    listed = {tool.name for tool in (*declaration.tools.http, *declaration.tools.command)}
    by_name = {tool.name: tool for tool in tools}
    problems = [
        Problem(("tools", "openapi", "operations"), f"{name!r} is the name of several tools", "narrow the operations")
        for name in by_name
        if name in listed
    ]
    actions: list[tuple[Place, Action | None]] = [(("action",), declaration.action)]
    actions += [((*place, "action"), task.action) for place, task in _with_places(declaration.tasks)]
    for place, action in actions:
        if action is None or action.tool in listed or declaration.tools.mcp is not None:
            continue
        if action.tool not in by_name:
            hint = nearest(action.tool, [*listed, *by_name])
            problems.append(Problem((*place, "tool"), f"there is no tool {action.tool!r}", hint))
            continue
        schema: Any = by_name[action.tool].parameters
        for name in action.arguments:
            if name not in schema["properties"]:
                hint = nearest(name, list(schema["properties"]))
                message = f"{action.tool} has no parameter of that name"
                problems.append(Problem((*place, "arguments", name), message, hint))
        for name in schema["required"]:
            if name not in action.arguments:
                problems.append(Problem((*place, "arguments"), f"{action.tool} needs {name!r}"))
    return problems


def _common_names(declaration: Declaration) -> set[str]:
    """What every task has."""
    return set.intersection(*(set(trial_names(declaration, task)) for task in declaration.tasks))


def _with_places(tasks: Sequence[TaskTable]) -> Iterator[tuple[Place, TaskTable]]:
    for place, task in enumerate(tasks):
        yield ("tasks", place), task


def missing_variables(declaration: Declaration) -> Iterator[Problem]:
    """Environment variables that are needed and not set, or that the oracle and an environment would both get."""
    for place, name in _variables(declaration):
        if name in declaration.record.read_credentials:
            message = f"{name} is a read credential, which only the oracle gets"
            yield Problem(place, message, "give the environment a credential of its own")
        elif name not in os.environ:
            yield Problem(place, f"the environment variable {name} is not set", f"set it: export {name}=...")


def _variables(declaration: Declaration) -> Iterator[tuple[Place, str]]:
    reset, tools = declaration.reset, declaration.tools
    if reset.sql is not None and reset.sql.dsn_env is not None:
        yield ("reset", "sql", "dsn_env"), reset.sql.dsn_env
    commands: list[tuple[Place, Sequence[str]]] = []
    if reset.command is not None:
        commands.append((("reset", "command", "pass_env"), reset.command.pass_env))
    commands += [(("tools", "command", at, "pass_env"), tool.pass_env) for at, tool in enumerate(tools.command)]
    if tools.mcp is not None:
        commands.append((("tools", "mcp", "pass_env"), tools.mcp.pass_env))
    for place, names in commands:
        for position, name in enumerate(names):
            yield (*place, position), name
    tokens: list[tuple[Place, str | None]] = [
        *((("reset", "http", at, "token_env"), call.token_env) for at, call in enumerate(reset.http)),
        *((("tools", "http", at, "token_env"), tool.token_env) for at, tool in enumerate(tools.http)),
        (("tools", "openapi", "token_env"), tools.openapi.token_env if tools.openapi else None),
        (("tools", "mcp", "token_env"), tools.mcp.token_env if tools.mcp else None),
    ]
    for place, token in tokens:
        if token is not None:
            yield place, token
