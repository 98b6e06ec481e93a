"""From the options of a configuration to a declaration that can be run, with every file that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from providers.declared.checks import declaration_problems, operation_problems
from providers.declared.model import Declaration
from providers.declared.names import HERE_NAMES, SQL_NAMES, trial_names
from providers.declared.reading import Source, read_declaration
from providers.declared.reset.scripts import Script, param_problems, read_script
from providers.declared.tools.openapi_file import Operation, read_operations
from spec.canonical import content_digest, digest_bytes
from spec.errors import ConfigError, ConfigErrors
from spec.text import nearest

OPTIONS: Final = ("file",)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A declaration with its files.

    Attributes:
        home: the folder in which it lies.
        template, trial: its SQL scripts.
        operations: of the OpenAPI file.
        digest: of everything that it says, and of what stands in every file that it names.
    """

    declaration: Declaration
    source: Source
    home: Path
    template: Sequence[Script]
    trial: Sequence[Script]
    operations: Sequence[Operation]
    digest: str


def load_declaration(options: Mapping[str, Any], folder: Path) -> Loaded:
    """Read and check the declaration that the options name.

    Args:
        options: ``file``, and nothing else.
        folder: where the configuration lies.

    Raises:
        ConfigError: the options are wrong, or the OpenAPI file is.
        ConfigErrors: with every problem of the declaration and its scripts.
    """
    path = _path(options, folder)
    declaration, source = read_declaration(path)
    home = path.parent
    problems = declaration_problems(declaration, home)
    if problems:
        raise source.errors(problems)
    template, trial = _scripts(declaration, home)
    openapi = declaration.tools.openapi
    operations = () if openapi is None else read_operations(home / openapi.file, openapi.operations)
    problems = operation_problems(declaration, [operation.tool for operation in operations])
    if problems:
        raise source.errors(problems)
    return Loaded(declaration, source, home, template, trial, operations, _digest(declaration, source, home))


def named_files(declaration: Declaration, home: Path) -> list[Path]:
    """Every file that a declaration names, by a key of its own or inside a command line, in order."""
    reset, tools = declaration.reset, declaration.tools
    files = [home / name for name in ((*reset.sql.template, *reset.sql.scripts) if reset.sql else ())]
    if tools.openapi is not None:
        files.append(home / tools.openapi.file)
    commands = [tool.argv for tool in tools.command]
    commands += [command.argv for command in (reset.command, tools.mcp) if command is not None and command.argv]
    for argv in commands:
        parts = [part for part in argv if part.startswith("{here}/")]
        files += [home / part.removeprefix("{here}/") for part in parts]
    return list(dict.fromkeys(path for path in files if path.is_file()))


def _path(options: Mapping[str, Any], folder: Path) -> Path:
    for name in options:
        if name not in OPTIONS:
            key = f"provider.options.{name}"
            raise ConfigError("is no option of the provider 'declared'", key=key, hint=nearest(name, OPTIONS))
    file = options.get("file")
    if not isinstance(file, str) or not file:
        hint = 'write options = { file = "desk.toml" }, found from the folder of this file'
        raise ConfigError("the provider 'declared' needs the name of a declaration", key="provider.options", hint=hint)
    return (folder / file).absolute()


def _scripts(declaration: Declaration, home: Path) -> tuple[list[Script], list[Script]]:
    sql = declaration.reset.sql
    if sql is None:
        return [], []
    errors: list[ConfigError] = []
    read: tuple[list[Script], list[Script]] = ([], [])
    for names, scripts in zip((sql.template, sql.scripts), read, strict=True):
        for name in names:
            try:
                scripts.append(read_script(home / name))
            except ConfigError as error:
                errors.append(error)
    known = set.intersection(*(set(trial_names(declaration, task)) for task in declaration.tasks))
    names_known = sorted(known | {*HERE_NAMES, *SQL_NAMES[sql.database]})
    for script in read[1]:
        errors += param_problems(script, names_known)
    if sql.database == "sqlite":
        for script in read[0]:
            errors += param_problems(script, [])
    if errors:
        raise ConfigErrors(errors)
    return read


def _digest(declaration: Declaration, source: Source, home: Path) -> str:
    files = [
        [path.relative_to(home).as_posix() if path.is_relative_to(home) else path.name, digest_bytes(path.read_bytes())]
        for path in named_files(declaration, home)
    ]
    return content_digest([source.text, files])
